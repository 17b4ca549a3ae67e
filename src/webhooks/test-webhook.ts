import { ApiError } from "../errors.ts";
import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const testWebhook = createHandlers(guard("webhooks:manage"), async (c) => {
  const outcome = await askObject(c, async (object, name) => object.sendTest(name));
  if (outcome === "busy")
    throw new ApiError("rate_limited", "A test of this webhook runs, or it had ten within a minute.");
  return json(c, outcome, 200);
});
withFacts(testWebhook[1], { operationId: "testWebhook" });
