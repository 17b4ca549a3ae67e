import { createRoutes } from "../operation.ts";
import { createWebhook } from "./create-webhook.ts";
import { deleteWebhook } from "./delete-webhook.ts";
import { getWebhook } from "./get-webhook.ts";
import { getWebhookSecret } from "./get-webhook-secret.ts";
import { getWebhookState } from "./get-webhook-state.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { listWebhooks } from "./list-webhooks.ts";
import { replayWebhook } from "./replay-webhook.ts";
import { rotateWebhookSecret } from "./rotate-webhook-secret.ts";
import { stopReplay } from "./stop-replay.ts";
import { testWebhook } from "./test-webhook.ts";
import { updateWebhook } from "./update-webhook.ts";

export const webhookRoutes = createRoutes()
  .get("/", ...listWebhooks)
  .post("/", ...createWebhook)
  .get("/:webhookId", ...getWebhook)
  .patch("/:webhookId", ...updateWebhook)
  .delete("/:webhookId", ...deleteWebhook)
  .get("/:webhookId/state", ...getWebhookState)
  .get("/:webhookId/secret", ...getWebhookSecret)
  .post("/:webhookId/rotate-secret", ...rotateWebhookSecret)
  .post("/:webhookId/test", ...testWebhook)
  .post("/:webhookId/replay", ...replayWebhook)
  .delete("/:webhookId/replay", ...stopReplay)
  .get("/:webhookId/deliveries", ...listDeliveries);
