import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const rotateWebhookSecret = createHandlers(guard("webhooks:manage"), async (c) =>
  json(c, { secret: await askObject(c, (object, name) => object.rotate(name)) }, 200),
);
withFacts(rotateWebhookSecret[1], { operationId: "rotateWebhookSecret" });
