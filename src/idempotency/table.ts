import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { int64 } from "../exact/column.ts";

export const entryColumns = {
  // Increases with time: the oldest entries are found without an index on `created_at`, which every creation would have to write.
  id: integer().primaryKey(),
  apiKeyId: text("api_key_id").notNull(),
  key: text("idempotency_key").notNull(),
  // SHA-256 of the request, in hexadecimal.
  fingerprint: text().notNull(),
  // The body of the first response. No version that is supported stores NULL.
  response: text(),
  // The id of the created or changed resource. No foreign key: the first response is repeated even after the resource is deleted.
  resourceId: int64("resource_id").notNull(),
  // Seconds since the epoch, from the clock of the database.
  createdAt: integer("created_at").notNull(),
  // The version in the `ETag` of the first response. No version that is supported stores NULL.
  version: integer(),
};

/**
 * The creation or patch of each `Idempotency-Key`. The transaction of the change writes the entry, so that neither exists
 * without the other. The scheduled job removes expired entries.
 */
export const idempotencyKeys = sqliteTable("idempotency_keys", entryColumns);
