import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { int64 } from "../exact/column.ts";

/**
 * The creation or patch of each `Idempotency-Key`. The transaction of the change writes the entry, so that neither exists
 * without the other. The scheduled job removes expired entries.
 */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    // Increases with time: the oldest entries are found without an index on `created_at`, which every creation would have to
    // write.
    id: integer().primaryKey(),
    apiKeyId: text("api_key_id").notNull(),
    key: text("idempotency_key").notNull(),
    // SHA-256 of the request, in hexadecimal.
    fingerprint: text().notNull(),
    // The body of the first response. Null in entries from before migration 0002.
    response: text(),
    // The id of the created or changed resource. No foreign key: the first response is repeated even after the resource is
    // deleted.
    resourceId: int64("resource_id").notNull(),
    // Seconds since the epoch, from the clock of the database.
    createdAt: integer("created_at").notNull(),
    // The version in the `ETag` of the first response. Null in entries from before migration 0005, which are all creations.
    version: integer(),
  },
  (entry) => [uniqueIndex("idempotency_keys_key_idx").on(entry.apiKeyId, entry.key)],
);

/** What an event reports. The list may grow. The part before the dot is the resource. */
export const EVENT_TYPES = [
  "pet.created",
  "pet.updated",
  "pet.deleted",
  "category.created",
  "category.updated",
  "category.deleted",
  "order.placed",
  "order.shipped",
  "order.cancelled",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * The feed: an event for each change, in the order of the transactions. The scheduled job removes old ones. The table is never empty:
 * migration 0006 writes a first row, of the type `feed.started`, which no client sees.
 */
export const events = sqliteTable("events", {
  // Without AUTOINCREMENT, which would write a second row for each event. The purge keeps the newest row, so no id is used again.
  id: integer().primaryKey(),
  // Random. With the id, it tells an event from the one that has its id in another history, after the database was restored.
  tag: integer().notNull(),
  type: text().notNull(),
  // The version of the resource after the change.
  version: integer().notNull(),
  // The resource after the change, as JSON.
  data: text().notNull(),
  // From the clock of the database, in RFC 3339 with milliseconds.
  createdAt: text("created_at").notNull(),
});
