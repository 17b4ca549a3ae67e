import { integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { int64 } from "../exact/column.ts";

/**
 * Which creation or patch an `Idempotency-Key` stands for. Written in the transaction of the change itself, so that one never exists
 * without the other; the scheduled job removes entries after their life.
 */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    // Ascends with time: the oldest entries are found without an index on `created_at`, which every creation would pay for.
    id: integer().primaryKey(),
    apiKeyId: text("api_key_id").notNull(),
    key: text("idempotency_key").notNull(),
    // SHA-256 of the request, in hexadecimal.
    fingerprint: text().notNull(),
    // The body of the first response. Null in entries from before migration 0002.
    response: text(),
    // The id of what was created or changed. No foreign key: the first response is repeated even when its subject is gone.
    resourceId: int64("resource_id").notNull(),
    // Seconds since the epoch, by the clock of the database.
    createdAt: integer("created_at").notNull(),
    // In the `ETag` of the first response. Null in entries from before migration 0005, which are of creations.
    version: integer(),
  },
  (entry) => [uniqueIndex("idempotency_keys_key_idx").on(entry.apiKeyId, entry.key)],
);
