import { compileSelect } from "../db/resource.ts";
import { guard } from "../http/guard.ts";
import { readOne } from "../http/read.ts";
import { createHandlers } from "../operation.ts";
import { noSuchWebhook, webhook, webhookId } from "./webhook.ts";

const select = compileSelect("getWebhook", webhook);

export const getWebhook = createHandlers(
  guard("webhooks:manage"),
  readOne("getWebhook", (c) => select({ id: webhookId(c) }), noSuchWebhook),
);
