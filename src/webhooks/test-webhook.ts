import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { asks } from "./webhook.ts";

export const testWebhook = createHandlers(
  guard("webhooks:manage"),
  asks("testWebhook", (object, name) => object.sendTest(name)),
);
