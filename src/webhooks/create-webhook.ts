import { lt, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { compileCreation, create } from "../changes/creation.ts";
import { creates } from "../changes/handlers.ts";
import { now } from "../db/clock.ts";
import type { Parameter } from "../db/statement.ts";
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
  MAX_CONCURRENCY,
  MAX_WEBHOOKS,
  nameOf,
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

const creation = compileCreation(
  webhook,
  undefined,
  (db, parameter: Parameter<{ tag: number; url: string; types: string; createdBy: string; concurrency: number }>) => ({
    values: {
      tag: sql`${parameter("tag")}`,
      url: sql`${parameter("url")}`,
      types: sql`${parameter("types")}`,
      enabled: sql`1`,
      disabledReason: sql`NULL`,
      createdBy: sql`${parameter("createdBy")}`,
      createdAt: now,
      place: sql`(${endOfFeed(db)})`,
      concurrency: sql`${parameter("concurrency")}`,
    },
    where: lt(sql`(${db.select({ count: sql`count(*)` }).from(webhooks)})`, sql.raw(String(MAX_WEBHOOKS))),
  }),
);

export const createWebhook = createHandlers(
  guard("webhooks:manage"),
  ...creates(
    "createWebhook",
    newWebhook,
    async (session, { url, types, concurrency = MAX_CONCURRENCY }, attempt, c) => {
      const readable = readableTypes(c);
      const refused = types.find((type) => !readable.includes(type));
      if (refused !== undefined) throw lacksScope(c, scopeOf(refused));
      const [tag = 0] = crypto.getRandomValues(new Uint32Array(1));
      const fields = { tag, url: urlOf(c, url), types: JSON.stringify(types), createdBy: apiKeyOf(c).id, concurrency };
      const created = await create(session, creation, fields, attempt);
      if (created?.replayed === false) await announce(c, nameOf(created.id, tag));
      // The call of an earlier attempt may be lost. Then the nudge after this response reaches the object.
      else forgetEnabled();
      return created;
    },
    () => new ApiError("webhook_limit", `There are ${MAX_WEBHOOKS} webhooks already.`),
  ),
);
