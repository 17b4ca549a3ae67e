import { and, eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { QueryBuilder } from "../db/statement.ts";
import { orders } from "./table.ts";

/** The orders of an animal that are not cancelled: one at most. Spelled like the condition of the index that finds it. */
export function activeOrder(db: QueryBuilder, petId: SQLiteColumn, more?: SQL) {
  return db
    .select({ one: sql`1` })
    .from(orders)
    .where(and(eq(orders.petId, petId), sql`${orders.status} <> 'cancelled'`, more));
}

/** That order, if it waits for its shipment. */
export function placedOrder(db: QueryBuilder, petId: SQLiteColumn) {
  return activeOrder(db, petId, eq(orders.status, "placed"));
}
