import { ApiError } from "../errors.ts";
import { beginAt, decodeEventCursor, type Place, selectEnd, selectFrom } from "../feed/place.ts";
import { jsonBody } from "../http/body.ts";
import { guard } from "../http/guard.ts";
import { openSession } from "../http/open-session.ts";
import { json } from "../http/respond.ts";
import { jsonObject, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { handlersOf } from "../operation.ts";
import { ask, noSuchWebhook, refuseVersions, selectObject, webhookId } from "./webhook.ts";

const LATEST = "latest";

export const replay = lazy(() =>
  jsonObject({
    cursor: parsed<string, Place | typeof LATEST>(
      (value) => (value === LATEST ? LATEST : typeof value === "string" ? decodeEventCursor(value) : undefined),
      rule("latest, or one that this service handed out for events"),
    ),
  }),
);

export const replayWebhook = handlersOf("replayWebhook")(guard("webhooks:manage"), jsonBody(replay), async (c) => {
  const { cursor } = c.req.valid("json");
  refuseVersions(c);
  const session = openSession(c);
  const isLatest = cursor === LATEST;
  const at = isLatest ? selectEnd({}) : selectFrom({ id: cursor.id });
  // On the primary: a replica that lags may not have the place yet.
  const [[webhook], rows] = await session.writeRepeatably([selectObject({ id: webhookId(c) }), at]);
  if (webhook === undefined) throw noSuchWebhook();
  if (webhook.enabled === 0) throw new ApiError("webhook_disabled", "This webhook is disabled. Enable it first.");
  const [first] = rows;
  if (first === undefined || (!isLatest && !beginAt(rows, cursor)))
    throw new ApiError("cursor_expired", "The feed does not have the place of this cursor, or no longer.");
  const state = await ask(c, webhook.name, async (object, name) =>
    isLatest ? object.skip(name, first.place) : object.replay(name, first.place),
  );
  if (state === "replay_running")
    throw new ApiError(state, "A replay of this webhook runs. Stop it, or wait for its end.");
  return json(c, state, 200);
});
