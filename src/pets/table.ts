import { sql } from "drizzle-orm";
import { check, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { int64, isTextOf } from "../exact/column.ts";
import { MAX_NAME_CHARACTERS } from "../name.ts";
import { RULES } from "./fold.ts";

export const PET_STATUSES = ["available", "pending", "sold"] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/**
 * The condition of a row whose name is not what `folded` comes from: an earlier version, a restore or another program wrote it. A name of
 * ASCII letters, digits and spaces needs none. GLOB and `length` stop at the first NUL. Word for word that of the index.
 */
export const isUnfilled = sql.raw(
  `coalesce(folded_of <> '${RULES}' || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name))`,
);

export const pets = sqliteTable(
  "pets",
  {
    // AUTOINCREMENT: SQLite never reuses an id, and ids ascend in the order of creation, which keyset paging relies on.
    id: integer().primaryKey({ autoIncrement: true }),
    name: text().notNull(),
    categoryId: int64("category_id").notNull(),
    status: text({ enum: PET_STATUSES }).notNull(),
    // Increases with each change.
    version: integer().notNull().default(1),
    // What searches compare, and what it comes from: src/pets/fold.ts.
    folded: text(),
    foldedOf: text("folded_of"),
  },
  (pet) => [
    // An index entry ends with the row's id, so the animals of a status are in id order and a filtered page reads only its rows.
    index("pets_status_idx").on(pet.status),
    // For all other filters: within a category, the animals of each status are in id order, and `listPets` merges them.
    index("pets_category_id_status_idx").on(pet.categoryId, pet.status),
    // Rows that this version writes are never in it.
    index("pets_unfilled_idx").on(pet.id).where(isUnfilled),
    // The rules of the API, for writers that bypass it.
    check("pets_name_check", isTextOf(pet.name, 1, MAX_NAME_CHARACTERS)),
    check("pets_category_id_check", sql`typeof(${pet.categoryId}) = 'integer'`),
    check(
      "pets_status_check",
      sql`${pet.status} IN (${sql.raw(PET_STATUSES.map((status) => `'${status}'`).join(", "))})`,
    ),
  ],
);
