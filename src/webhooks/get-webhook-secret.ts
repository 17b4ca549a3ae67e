import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { asks } from "./webhook.ts";

export const getWebhookSecret = createHandlers(
  guard("webhooks:manage"),
  asks("getWebhookSecret", async (object, name) => ({ secret: await object.secret(name) })),
);
