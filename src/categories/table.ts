import { check, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { sql } from "drizzle-orm";
import { isTextOf } from "../exact/column.ts";
import { MAX_NAME_CHARACTERS } from "../name.ts";

/** Characters of a description. */
export const MAX_DESCRIPTION_CHARACTERS = 2_000;

export const categories = sqliteTable(
  "categories",
  {
    id: integer().primaryKey({ autoIncrement: true }),
    name: text().notNull(),
    // Null when there is none.
    description: text(),
    // Increases with each change.
    version: integer().notNull().default(1),
  },
  (category) => [
    // SQLite compares texts byte for byte by default.
    uniqueIndex("categories_name_idx").on(category.name),
    check("categories_name_check", isTextOf(category.name, 1, MAX_NAME_CHARACTERS)),
    check(
      "categories_description_check",
      sql`${category.description} IS NULL OR (${isTextOf(category.description, 0, MAX_DESCRIPTION_CHARACTERS)})`,
    ),
  ],
);
