import { eq, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { compileCompanion } from "../changes/plan.ts";
import { jsonObjectOf } from "../db/json-object.ts";
import type { Resource } from "../db/resource.ts";
import type { Parameter } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { idIn } from "../http/path.ts";
import { pet } from "../pets/shape.ts";
import type { PetStatus } from "../pets/table.ts";
import { orders, type OrderStatus } from "./table.ts";

export const [orderId, noSuchOrder] = idIn("orderId", "order");

/** An order as clients see it. */
export interface Order {
  id: number;
  petId: number;
  /** Each animal is unique, so an order is for one. */
  quantity: 1;
  status: OrderStatus;
  createdAt: string;
  shipDate: string | null;
  complete: boolean;
  /** The shop's own name for the order. */
  reference?: string;
  /** The shop's own name for whom the order is for. */
  customer?: string;
}

export const order: Resource<Order, typeof orders> = {
  table: orders,
  body: () =>
    jsonObjectOf<Order>(
      {
        id: orders.id,
        petId: orders.petId,
        quantity: sql`1`,
        status: orders.status,
        createdAt: orders.createdAt,
        shipDate: orders.shipDate,
        complete: sql`json(iif(${orders.status} = 'shipped', 'true', 'false'))`,
      },
      { reference: orders.reference, customer: orders.customer },
    ),
};

/** The condition that a request may reach an order: the customer is null, or that of the order. */
export const isReachedBy = (customer: SQLWrapper): SQL =>
  sql`(${customer} IS NULL OR ${orders.customer} = ${customer})`;

/**
 * Checks the customer that a request with a token names.
 *
 * @throws ApiError `invalid_request` when it is another one. Nothing was looked up, so it tells nothing.
 */
export function checkCustomer(named: string | undefined, customer: string): void {
  if (named !== undefined && named !== customer)
    throw new ApiError("invalid_request", "customer has to be that of the token.");
}

/** Only such an order can be shipped or cancelled. */
export const isPlaced = eq(orders.status, "placed");

/** Sets the status of the animal of the order in the parameter `id`, with its event, after a change of the order. */
export const compileMove = (operation: string, status: PetStatus) =>
  compileCompanion(`${operation}.pet`, pet, "pet.updated", { status }, (db, parameter: Parameter<{ id: Int64 }>) => {
    const petId = db
      .select({ petId: orders.petId })
      .from(orders)
      .where(eq(orders.id, parameter("id")));
    return sql`${petId}`;
  });
