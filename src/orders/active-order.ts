import { and, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { QueryBuilder } from "../db/statement.ts";
import { orders } from "./table.ts";

// Each is a text, spelled as in its index: SQLite takes an index with a condition only for a query that repeats it.
export const isActive = () => sql`${orders.status} <> 'cancelled'`;
export const isCancelled = () => sql`${orders.status} = 'cancelled'`;

/** The orders of an animal that are not cancelled: one at most. */
export function activeOrder(db: QueryBuilder, petId: SQLiteColumn, more?: SQL) {
  return db
    .select({ one: sql`1` })
    .from(orders)
    .where(and(eq(orders.petId, petId), isActive(), more));
}

/** That order, if it waits for its shipment. */
export function placedOrder(db: QueryBuilder, petId: SQLiteColumn) {
  return activeOrder(db, petId, eq(orders.status, "placed"));
}
