import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const getWebhookState = createHandlers(guard("webhooks:manage"), async (c) =>
  json(c, await askObject(c, (object, name) => object.state(name)), 200),
);
withFacts(getWebhookState[1], { operationId: "getWebhookState" });
