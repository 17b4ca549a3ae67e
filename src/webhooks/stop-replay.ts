import { guard } from "../http/guard.ts";
import { noBody } from "../http/respond.ts";
import { handlersOf } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const stopReplay = handlersOf("stopReplay")(guard("webhooks:manage"), async (c) => {
  await askObject(c, (object, name) => object.stopReplay(name));
  return noBody(c, 204);
});
