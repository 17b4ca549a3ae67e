import { sql } from "drizzle-orm";
import { check, customType, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../int64.ts";

/**
 * An INTEGER column that holds the whole int64 range. It is written from decimal text, which SQLite's column affinity
 * turns into the exact integer; D1 would round a bigint column on the way out, so it is read through `exact()`.
 */
const int64 = customType<{ data: Int64; driverData: string }>({ dataType: () => "integer" });

export const PET_STATUSES = ["available", "pending", "sold"] as const;

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
    // stops at the first NUL: 255 characters are at most 1020 bytes of UTF-8.
    check(
      "pets_name_check",
      sql`typeof(${pet.name}) = 'text' AND length(CAST(${pet.name} AS BLOB)) BETWEEN 1 AND 1020`,
    ),
    check("pets_category_id_check", sql`typeof(${pet.categoryId}) = 'integer'`),
    check("pets_status_check", sql`${pet.status} IN ('available', 'pending', 'sold')`),
  ],
);
