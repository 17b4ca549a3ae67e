import { ApiError } from "../errors.ts";
import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { handlersOf } from "../operation.ts";
import { askObject, limitCalls } from "./webhook.ts";

export const testWebhook = handlersOf("testWebhook")(guard("webhooks:manage"), async (c) => {
  await limitCalls(c);
  const outcome = await askObject(c, async (object, name) => object.sendTest(name));
  if (typeof outcome === "object") return json(c, outcome, 200);
  const message = "A test of this webhook runs, or it had ten within a minute.";
  throw new ApiError("rate_limited", message, { retryAfter: outcome });
});
