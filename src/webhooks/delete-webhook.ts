import { and, eq } from "drizzle-orm";
import { removes } from "../changes/handlers.ts";
import { hasVersion, type Target } from "../changes/version.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { guard } from "../http/guard.ts";
import { preconditionFailed } from "../http/precondition.ts";
import { createHandlers } from "../operation.ts";
import { announce } from "./nudge.ts";
import { webhooks } from "./table.ts";
import { noSuchWebhook, objectName, selectObject, webhookId } from "./webhook.ts";

const remove = compile("deleteWebhook.remove", (db, parameter: Parameter<Target>) =>
  db
    .delete(webhooks)
    .where(and(eq(webhooks.id, parameter("id")), hasVersion(webhooks.version, parameter)))
    .returning({ name: objectName.as("name") }),
);

export const deleteWebhook = createHandlers(
  guard("webhooks:manage"),
  removes("deleteWebhook", webhookId, async ({ c, session }, target) => {
    // Without a retry: if the first attempt succeeded, the second would respond 404 to the caller whose request deleted it.
    const [[deleted], [present]] = await session.writeOnce([remove(target), selectObject(target)], true);
    if (deleted === undefined) throw present === undefined ? noSuchWebhook() : preconditionFailed();
    await announce(c, deleted.name);
  }),
);
