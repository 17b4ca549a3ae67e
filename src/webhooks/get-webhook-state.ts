import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { asks } from "./webhook.ts";

export const getWebhookState = createHandlers(
  guard("webhooks:manage"),
  asks("getWebhookState", (object, name) => object.state(name)),
);
