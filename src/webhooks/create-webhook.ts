import { gte, type SQLWrapper, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { creates } from "../changes/handlers.ts";
import { compileInsert } from "../changes/insert.ts";
import { now } from "../db/clock.ts";
import { ApiError } from "../errors.ts";
import { endOfFeed } from "../feed/place.ts";
import { scopeOf } from "../feed/table.ts";
import { apiKeyOf } from "../http/authentication.ts";
import { guard, lacksScope } from "../http/guard.ts";
import { jsonObject } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { announce, forgetEnabled } from "./nudge.ts";
import { webhooks } from "./table.ts";
import {
  concurrencyField,
  limitCalls,
  MAX_CONCURRENCY,
  MAX_WEBHOOKS,
  readableTypes,
  typesField,
  urlField,
  urlOf,
  webhook,
} from "./webhook.ts";

// A new field is the last one, and optional: see `valuesOf` in src/idempotency/attempt.ts.
export const newWebhook = lazy(() =>
  jsonObject({ url: urlField(), types: typesField(), concurrency: z.optional(concurrencyField()) }),
);

const creation = compileInsert(
  "createWebhook",
  webhook,
  undefined,
  (field: (name: "tag" | "url" | "types" | "createdBy" | "concurrency") => SQLWrapper, db) => ({
    tag: sql`${field("tag")}`,
    url: sql`${field("url")}`,
    types: sql`${field("types")}`,
    enabled: sql`1`,
    disabledReason: sql`NULL`,
    createdBy: sql`${field("createdBy")}`,
    createdAt: now,
    place: sql`(${endOfFeed(db)})`,
    concurrency: sql`${field("concurrency")}`,
  }),
  {
    rule: {
      isBroken: (db) =>
        gte(sql`(${db.select({ count: sql`count(*)` }).from(webhooks)})`, sql.raw(String(MAX_WEBHOOKS))),
      error: () => new ApiError("webhook_limit", `There are ${MAX_WEBHOOKS} webhooks already.`),
    },
  },
);

export const createWebhook = createHandlers(
  guard("webhooks:manage"),
  ...creates("createWebhook", newWebhook, async (call, { url, types, concurrency = MAX_CONCURRENCY }) => {
    const { c } = call;
    const readable = readableTypes(c);
    const refused = types.find((type) => !readable.includes(type));
    if (refused !== undefined) throw lacksScope(c, scopeOf(refused));
    const [tag = 0] = crypto.getRandomValues(new Uint32Array(1));
    const fields = { tag, url: urlOf(c, url), types: JSON.stringify(types), createdBy: apiKeyOf(c).id, concurrency };
    await limitCalls(c);
    const created = await creation(call, fields);
    // The call of an earlier attempt may be lost. Then the nudge after this response reaches the object.
    if (created.replayed) forgetEnabled();
    else await announce(c, `${created.id}-${tag}`);
    return created;
  }),
);
