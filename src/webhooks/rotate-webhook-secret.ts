import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { asks } from "./webhook.ts";

export const rotateWebhookSecret = createHandlers(
  guard("webhooks:manage"),
  asks("rotateWebhookSecret", async (object, name) => ({ secret: await object.rotate(name) })),
);
