import { and, eq, type SQL, sql } from "drizzle-orm";
import type { QueryBuilder } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import { orders } from "../orders/table.ts";

/** The orders of the animal in the placeholder `id` that are not cancelled: one at most. */
export function activeOrder(db: QueryBuilder, more?: SQL) {
  return db
    .select({ one: sql`1` })
    .from(orders)
    .where(and(eq(orders.petId, sql.placeholder("id")), sql`${orders.status} <> 'cancelled'`, more));
}

/** That order, if it waits for its shipment. */
export function placedOrder(db: QueryBuilder) {
  return activeOrder(db, eq(orders.status, "placed"));
}

export function petOnOrder(message: string): ApiError {
  return new ApiError("pet_on_order", message);
}
