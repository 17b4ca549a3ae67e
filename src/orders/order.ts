import { eq, sql } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Context } from "hono";
import { type Complete, jsonObjectOf } from "../db/json-object.ts";
import { ifChanged, insertEvents } from "../changes/event.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import { jsonInteger } from "../exact/json.ts";
import { idInPath } from "../http/path.ts";
import { animalJson, type PetStatus, pets } from "../pets/table.ts";
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

/** The columns of an order, exact. */
export const orderColumns = () => ({
  id: exact(orders.id).as("id"),
  petId: exact(orders.petId).as("petId"),
  status: orders.status,
  createdAt: sql<string>`${orders.createdAt}`.as("createdAt"),
  shipDate: sql<string | null>`${orders.shipDate}`.as("shipDate"),
  version: orders.version,
});

/** An order as the database holds it. */
export type OrderRow = SelectResultFields<ReturnType<typeof orderColumns>>;

export const selectOrder = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select(orderColumns())
    .from(orders)
    .where(eq(orders.id, parameter("id"))),
);

/**
 * The two statements that set the status of the animal of the order in the parameter `id`, with its event, if the previous statement
 * changed one row. All of these changes take effect, or none.
 */
export function moveAnimal(status: PetStatus) {
  const isOfOrder = (db: QueryBuilder, parameter: Parameter<{ id: Int64 }>) => {
    const petId = db
      .select({ petId: orders.petId })
      .from(orders)
      .where(eq(orders.id, parameter("id")));
    return eq(pets.id, ifChanged(petId));
  };
  const move = compile((db, parameter: Parameter<{ id: Int64 }>) =>
    db
      .update(pets)
      .set({ status, version: sql`${pets.version} + 1` })
      .where(isOfOrder(db, parameter)),
  );
  const record = compile((db, parameter: Parameter<{ id: Int64 }>) =>
    insertEvents(db, "pet.updated", pets, animalJson(), isOfOrder(db, parameter)),
  );
  return (order: { id: Int64 }) => [move(order), record(order)] as const;
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
}

/** The body of an order in SQL. It equals JSON.stringify of `toOrder`. */
export const orderJson = () =>
  jsonObjectOf<Order>({
    id: orders.id,
    petId: orders.petId,
    quantity: sql`1`,
    status: orders.status,
    createdAt: orders.createdAt,
    shipDate: orders.shipDate,
    complete: sql`json(iif(${orders.status} = 'shipped', 'true', 'false'))`,
  });

/** The only place that turns a row into a response. A new column appears in it only when it is added here. */
export function toOrder({ id, petId, status, createdAt, shipDate }: OrderRow): Complete<Order> {
  return {
    id: jsonInteger(id),
    petId: jsonInteger(petId),
    quantity: 1,
    status,
    createdAt,
    shipDate,
    complete: status === "shipped",
  };
}
