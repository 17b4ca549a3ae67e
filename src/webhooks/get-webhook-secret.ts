import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const getWebhookSecret = createHandlers(guard("webhooks:manage"), async (c) =>
  json(c, { secret: await askObject(c, (object, name) => object.secret(name)) }, 200),
);
withFacts(getWebhookSecret[1], { operationId: "getWebhookSecret" });
