import { eq, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "hono";
import * as z from "zod/mini";
import { patches } from "../changes/handlers.ts";
import { compilePatch } from "../changes/patch.ts";
import { storedColumns } from "../db/resource.ts";
import { compile, type Parameter } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
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

/** The types that the key may read, as a JSON array. Null when the patch needs none of them. */
const readable = sql.placeholder("readable");

/** The first of these types that the key may not read. */
const unreadable = (types: SQLWrapper): SQL<string | null> =>
  sql`iif(${readable} IS NULL, NULL, (SELECT value FROM json_each(${types}) WHERE value NOT IN (SELECT value FROM json_each(${readable})) LIMIT 1))`;

// The transaction checks the types that the webhook then has: another request may add some.
const patch = compilePatch(
  { ...webhook, fields: { url: true, types: true, enabled: true, disabledReason: true, concurrency: true } },
  undefined,
  (_db, parameter, fields) => {
    const types = fields.includes("types") ? sql`${parameter("types")}` : webhooks.types;
    return sql`${unreadable(types)} IS NULL`;
  },
);

const select = compile((db, parameter: Parameter<{ id: Int64; types: string | null; readable: string | null }>) =>
  db
    .select({
      ...storedColumns(webhook),
      name: objectName.as("name"),
      unreadable: unreadable(sql`coalesce(${parameter("types")}, ${webhooks.types})`).as("unreadable"),
    })
    .from(webhooks)
    .where(eq(webhooks.id, parameter("id"))),
);

type Values = z.output<ReturnType<typeof webhookPatch>>;

/** Disabling needs no scope of the types, and neither does the number of attempts at once. */
const readableFor = ({ url, types, enabled }: Values, c: Context<AppEnv>) =>
  url === undefined && types === undefined && enabled !== true ? null : JSON.stringify(readableTypes(c));
const textOf = (types: Values["types"]) => types && JSON.stringify(types);

export const updateWebhook = createHandlers(
  guard("webhooks:manage"),
  ...patches("updateWebhook", webhookPatch, {
    id: webhookId,
    patch: (target, values, attempt, c) => {
      const { url, types, enabled, concurrency } = values;
      const columns = {
        url: url === undefined ? undefined : urlOf(c, url),
        types: textOf(types),
        enabled: enabled === undefined ? undefined : Number(enabled),
        // Enabling removes it.
        disabledReason: enabled === true ? null : undefined,
        concurrency,
      };
      const named = { ...target, readable: readableFor(values, c) };
      return patch(named, columns, attempt);
    },
    select: (target, values, c) =>
      select({ ...target, types: textOf(values.types) ?? null, readable: readableFor(values, c) }),
    missing: noSuchWebhook,
    conflict({ unreadable }, _values, c) {
      if (unreadable === null) return undefined;
      dropBookmark(c);
      return lacksScope(c, scopeOf(unreadable));
    },
    follow: ({ name }, c) => announce(c, name),
  }),
);
