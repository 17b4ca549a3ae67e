import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Characters of a description. */
export const MAX_DESCRIPTION_CHARACTERS = 2_000;

export const categoryColumns = {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull(),
  // Null when there is none.
  description: text(),
  // Increases with each change.
  version: integer().notNull().default(1),
};

export const categories = sqliteTable("categories", categoryColumns);
