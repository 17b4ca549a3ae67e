import { and, eq, type SQL, sql } from "drizzle-orm";
import { integer, type SQLiteColumn, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { QueryBuilder } from "../db/statement.ts";
import { int64 } from "../exact/column.ts";

export const ORDER_STATUSES = ["placed", "shipped", "cancelled"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export const orderColumns = {
  id: integer().primaryKey({ autoIncrement: true }),
  // No foreign key: the animal of a cancelled order may be deleted.
  petId: int64("pet_id").notNull(),
  status: text({ enum: ORDER_STATUSES }).notNull(),
  // Times in RFC 3339, in UTC, with milliseconds: texts of equal length, which sort in order of time.
  createdAt: text("created_at").notNull(),
  // Null until the order is shipped.
  shipDate: text("ship_date"),
  // Increases with each change.
  version: integer().notNull().default(1),
  // The shop's own name for the order. Null when there is none.
  reference: text(),
  // The shop's own name for whom the order is for. Null when there is none.
  customer: text(),
};

export const orders = sqliteTable("orders", orderColumns);

export const inventoryColumns = {
  id: integer().primaryKey(),
  available: integer().notNull(),
  pending: integer().notNull(),
  sold: integer().notNull(),
  // From the clock of the database, in milliseconds since the epoch.
  countedAt: integer("counted_at").notNull(),
};

/** The last count of the animals of each status, in one row. It follows from `pets`, so backups leave it out. */
export const inventory = sqliteTable("inventory", inventoryColumns);

// Each repeats the condition of its index word for word, so that SQLite uses it (sqlite.org/partialindex.html, section 3).
export const isActive = () => sql`${orders.status} <> 'cancelled'`;
export const isCancelled = () => sql`${orders.status} = 'cancelled'`;

/** The orders of an animal that are not cancelled: one at most. */
export function activeOrder(db: QueryBuilder, petId: SQLiteColumn, more?: SQL) {
  return db
    .select({ one: sql`1` })
    .from(orders)
    .where(and(eq(orders.petId, petId), isActive(), more));
}
