import { guard } from "../http/guard.ts";
import { noBody } from "../http/respond.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const stopReplay = createHandlers(guard("webhooks:manage"), async (c) => {
  await askObject(c, (object, name) => object.stopReplay(name));
  return noBody(c, 204);
});
withFacts(stopReplay[1], { operationId: "stopReplay" });
