import { sql } from "drizzle-orm";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { int64 } from "../exact/column.ts";
import { CHANGED, RULES } from "./fold.ts";

export const PET_STATUSES = ["available", "pending", "sold"] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/**
 * The condition of a row whose name is not what `folded` comes from: an earlier version, a restore or another program wrote it. A name of
 * ASCII letters, digits and spaces needs none. GLOB and `length` stop at the first NUL. Word for word that of the index.
 */
export const isUnfilled = sql.raw(
  `coalesce(folded_of <> iif(name GLOB '*[${CHANGED}]*', '${RULES}', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name))`,
);

export const petColumns = {
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
  // The id of the animal in another system. Null when there is none.
  externalId: text("external_id"),
};

/** Its indexes and checks are in drizzle/tables.ts, like those of every table. */
export const pets = sqliteTable("pets", petColumns);

/** One row: how far the index `pets_words` is. Drizzle does not know that virtual table, which a migration makes. */
export const indexColumns = {
  id: integer().primaryKey(),
  /** The rules of the fold that its words come from. Any other text lets the hourly job begin anew. */
  rules: text().notNull(),
  /** The last event whose animal it has. */
  place: integer().notNull(),
  /** The last animal that the hourly job put into it, until it has all. */
  filledTo: integer("filled_to").notNull(),
  /** 1 when it has every animal, but for those that events after the place name. */
  ready: integer().notNull(),
};

export const searchIndex = sqliteTable("search_index", indexColumns);
