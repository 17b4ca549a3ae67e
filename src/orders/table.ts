import { and, eq, type SQL, sql } from "drizzle-orm";
import { check, index, integer, type SQLiteColumn, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { QueryBuilder } from "../db/statement.ts";
import { int64 } from "../exact/column.ts";

export const ORDER_STATUSES = ["placed", "shipped", "cancelled"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export const orders = sqliteTable(
  "orders",
  {
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
  },
  (order) => [
    // Prevents a second sale of an animal, even if the service has a bug.
    uniqueIndex("orders_active_idx")
      .on(order.petId)
      .where(sql`status <> 'cancelled'`),
    // Each order is in one of these two indexes, so that placing an order writes only one.
    index("orders_cancelled_idx")
      .on(order.petId)
      .where(sql`status = 'cancelled'`),
    index("orders_status_idx").on(order.status),
    // An order without a reference is not in it.
    index("orders_reference_status_idx")
      .on(order.reference, order.status)
      .where(sql`reference IS NOT NULL`),
    // An order without a customer is not in it.
    index("orders_customer_status_idx")
      .on(order.customer, order.status)
      .where(sql`customer IS NOT NULL`),
    check("orders_pet_id_check", sql`typeof(${order.petId}) = 'integer'`),
    // No CHECK lists the states, because more may come, and SQLite can change a CHECK only by rewriting the whole table.
    check("orders_ship_date_check", sql`${order.status} <> 'shipped' OR ${order.shipDate} IS NOT NULL`),
  ],
);

/** The last count of the animals of each status, in one row. It follows from `pets`, so backups leave it out. */
export const inventory = sqliteTable(
  "inventory",
  {
    id: integer().primaryKey(),
    available: integer().notNull(),
    pending: integer().notNull(),
    sold: integer().notNull(),
    // From the clock of the database, in milliseconds since the epoch.
    countedAt: integer("counted_at").notNull(),
  },
  () => [check("inventory_id_check", sql`id = 1`)],
);

// Each repeats the condition of its index word for word: SQLite uses a partial index only for a query with the same condition.
export const isActive = () => sql`${orders.status} <> 'cancelled'`;
export const isCancelled = () => sql`${orders.status} = 'cancelled'`;

/** The orders of an animal that are not cancelled: one at most. */
export function activeOrder(db: QueryBuilder, petId: SQLiteColumn, more?: SQL) {
  return db
    .select({ one: sql`1` })
    .from(orders)
    .where(and(eq(orders.petId, petId), isActive(), more));
}

/** That order, if it is not shipped yet. */
export function placedOrder(db: QueryBuilder, petId: SQLiteColumn) {
  return activeOrder(db, petId, eq(orders.status, "placed"));
}
