import { sql } from "drizzle-orm";
import { check, customType, index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../int64.ts";

/**
 * An INTEGER column that holds the whole int64 range. It is written from decimal text, which SQLite's column affinity
 * turns into the exact integer; D1 would round a bigint column on the way out, so it is read through `exact()`.
 */
const int64 = customType<{ data: Int64; driverData: string }>({ dataType: () => "integer" });

export const MAX_NAME_CHARACTERS = 255;
export const PET_STATUSES = ["available", "pending", "sold"] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

export const pets = sqliteTable(
  "pets",
  {
    // AUTOINCREMENT: an id that was ever handed out never names another animal, and ids ascend in the order of creation,
    // which keyset paging relies on.
    id: integer().primaryKey({ autoIncrement: true }),
    name: text().notNull(),
    categoryId: int64("category_id").notNull(),
    status: text({ enum: PET_STATUSES }).notNull(),
  },
  (pet) => [
    // An index entry ends with the row's id, so one status is already in id order: a filtered page reads only its rows.
    index("pets_status_idx").on(pet.status),
    // The rules of the API once more, for writers that do not come through it. Bytes, because SQLite's length() of a text
    // stops at the first NUL: a character is at most four bytes of UTF-8.
    check(
      "pets_name_check",
      sql`typeof(${pet.name}) = 'text' AND length(CAST(${pet.name} AS BLOB)) BETWEEN 1 AND ${sql.raw(`${4 * MAX_NAME_CHARACTERS}`)}`,
    ),
    check("pets_category_id_check", sql`typeof(${pet.categoryId}) = 'integer'`),
    check(
      "pets_status_check",
      sql`${pet.status} IN (${sql.raw(PET_STATUSES.map((status) => `'${status}'`).join(", "))})`,
    ),
  ],
);

/**
 * Which creation an `Idempotency-Key` stands for. Written in the transaction of the creation itself, so that one never exists
 * without the other; the scheduled job removes entries after their life.
 */
export const idempotencyKeys = sqliteTable(
  "idempotency_keys",
  {
    // Ascends with time: the oldest entries are found without an index on `created_at`, which every creation would pay for.
    id: integer().primaryKey(),
    apiKeyId: text("api_key_id").notNull(),
    key: text("idempotency_key").notNull(),
    // SHA-256 of what was asked for, in hexadecimal.
    fingerprint: text().notNull(),
    // The body of the first response. Null in entries of version 1.0.0, which did not keep it.
    response: text(),
    // The id of what was created. No foreign key: the first answer is repeated even when its subject is gone.
    resourceId: int64("resource_id").notNull(),
    // Seconds since the epoch, by the clock of the database.
    createdAt: integer("created_at").notNull(),
  },
  (entry) => [uniqueIndex("idempotency_keys_key_idx").on(entry.apiKeyId, entry.key)],
);
