import { eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { compileCompanion } from "../changes/plan.ts";
import { jsonObjectOf } from "../db/json-object.ts";
import { compileSelect, type Resource } from "../db/resource.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { idInPath } from "../http/path.ts";
import { pet } from "../pets/shape.ts";
import type { PetStatus } from "../pets/table.ts";
import { orders, type OrderStatus } from "./table.ts";

/**
 * The id in the path.
 *
 * @throws ApiError `not_found`
 */
export function orderId(c: Context<AppEnv, "/:orderId">): Int64 {
  return idInPath(c.req.param("orderId"), noSuchOrder);
}

export function noSuchOrder(): ApiError {
  return new ApiError("not_found", "There is no order with this id.");
}

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
      { reference: orders.reference },
    ),
};

export const selectOrder = compileSelect(order);

/** Only such an order can be shipped or cancelled. */
export const isPlaced = eq(orders.status, "placed");

/** Sets the status of the animal of the order in the parameter `id`, with its event, after a change of the order. */
export const moveAnimal = (status: PetStatus) =>
  compileCompanion(pet, "pet.updated", { status }, (db) => {
    const petId = db
      .select({ petId: orders.petId })
      .from(orders)
      .where(eq(orders.id, sql.placeholder("id")));
    return sql`${petId}`;
  });
