import { sql } from "drizzle-orm";
import type { Context } from "hono";
import * as z from "zod/mini";
import { patches } from "../changes/handlers.ts";
import type { After } from "../changes/rule.ts";
import { compileUpdate } from "../changes/update.ts";
import type { AppEnv } from "../env.ts";
import { scopeOf } from "../feed/table.ts";
import { guard, lacksScope } from "../http/guard.ts";
import { jsonObject, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { announce } from "./nudge.ts";
import { webhooks } from "./table.ts";
import {
  concurrencyField,
  dropBookmark,
  noSuchWebhook,
  objectName,
  readableTypes,
  typesField,
  urlField,
  urlOf,
  webhook,
  webhookId,
} from "./webhook.ts";

export const webhookPatch = lazy(() =>
  jsonObject({
    url: z.optional(urlField()),
    types: z.optional(typesField()),
    enabled: z.optional(z.boolean(rule("true or false"))),
    concurrency: z.optional(concurrencyField()),
  }),
);

interface Readable {
  /** The types that the key may read, as a JSON array. Null when the patch needs none of them. */
  readable: string | null;
}
type Changed = After<"types", Readable>;
/** The first of the types of the webhook after the patch that the key may not read. Another request may have added some. */
const unreadable = ({ value, parameter }: Changed) =>
  sql`(SELECT value FROM json_each(${value("types")}) WHERE value NOT IN (SELECT value FROM json_each(${parameter("readable")})) LIMIT 1)`;

const patch = compileUpdate(
  "updateWebhook",
  { ...webhook, fields: { url: true, types: true, enabled: true, concurrency: true } },
  undefined,
  {
    missing: noSuchWebhook,
    rules: [
      {
        isBroken: (_db, after: Changed) =>
          sql`(${after.parameter("readable")} IS NOT NULL AND ${unreadable(after)} IS NOT NULL)`,
        reason: (_db, after) => sql`iif(${after.parameter("readable")} IS NULL, NULL, ${unreadable(after)})`,
        error(c, type) {
          dropBookmark(c);
          return lacksScope(c, scopeOf(String(type)));
        },
      },
    ],
    columns: { name: objectName.as("name") },
    // Enabling removes it.
    also: (field) => ({ disabledReason: sql`iif(${field("enabled")}, NULL, ${webhooks.disabledReason})` }),
  },
);

const select = patch.compileSelect();

type Values = z.output<ReturnType<typeof webhookPatch>>;

/** The values of the columns, undefined for each to keep, and `readable`. */
function parametersOf(c: Context<AppEnv>, { url, types, enabled, concurrency }: Values) {
  // Disabling needs no scope of the types, and neither does the number of attempts at once.
  const needsTypes = url !== undefined || types !== undefined || enabled === true;
  return {
    url: url === undefined ? undefined : urlOf(c, url),
    types: types === undefined ? undefined : JSON.stringify(types),
    enabled: enabled === undefined ? undefined : Number(enabled),
    concurrency,
    readable: needsTypes ? JSON.stringify(readableTypes(c)) : null,
  };
}

export const updateWebhook = createHandlers(
  guard("webhooks:manage"),
  ...patches("updateWebhook", webhookPatch, webhookId, {
    ...patch,
    plans: (target, values, attempt, c) => patch.plans(target, parametersOf(c, values), attempt),
    select: (target, values, c) => select(target, parametersOf(c, values)),
    announce: ({ name }, c) => announce(c, name),
  }),
);
