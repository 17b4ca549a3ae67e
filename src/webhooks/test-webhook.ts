import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const testWebhook = createHandlers(guard("webhooks:manage"), async (c) =>
  json(c, await askObject(c, (object, name) => object.sendTest(name)), 200),
);
withFacts(testWebhook[1], { operationId: "testWebhook" });
