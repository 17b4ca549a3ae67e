import { guard } from "../http/guard.ts";
import { readOne } from "../http/read.ts";
import { createHandlers } from "../operation.ts";
import { noSuchWebhook, selectWebhook, webhookId } from "./webhook.ts";

export const getWebhook = createHandlers(
  guard("webhooks:manage"),
  readOne("getWebhook", (c) => selectWebhook({ id: webhookId(c) }), noSuchWebhook),
);
