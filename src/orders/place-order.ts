import { and, eq, notExists, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import { toInt64 } from "../exact/json.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/bookmark.ts";
import { jsonBody } from "../http/body.ts";
import { int64Field, jsonObject, parsed, rule } from "../http/validation.ts";
import { type Attempt, create, createOnce, isFirstAttempt, remember } from "../idempotency/creation.ts";
import { idempotentAttempt } from "../idempotency/header.ts";
import { respondWithCreation } from "../idempotency/respond.ts";
import { lazy } from "../lazy.ts";
import { pets } from "../pets/table.ts";
import { activeOrder } from "./active-order.ts";
import { now, type Order, toOrder } from "./order.ts";
import { orders } from "./table.ts";

/** New fields go to the end (`fingerprintOf`). */
export const newOrder = lazy(() =>
  jsonObject({
    petId: int64Field(),
    quantity: z._default(
      parsed<1, 1>((value) => (toInt64(value) === "1" ? 1 : undefined), rule("1")),
      1,
    ),
  }),
);

/** Inserts nothing unless the animal is free: decided in the same statement, so that no other order comes between. */
const insert = (db: QueryBuilder, parameter: Parameter<{ petId: Int64 }>, more?: SQL) =>
  db
    .insert(orders)
    .select(
      db
        .select({
          id: sql`NULL`.as("id"),
          petId: sql`${pets.id}`.as("petId"),
          status: sql`'placed'`.as("status"),
          createdAt: now.as("createdAt"),
          shipDate: sql`NULL`.as("shipDate"),
          version: sql`1`.as("version"),
        })
        .from(pets)
        .where(
          and(eq(pets.id, parameter("petId")), eq(pets.status, "available"), notExists(activeOrder(db, pets.id)), more),
        ),
    )
    .returning({ id: exact(orders.id).as("id"), createdAt: sql<string>`${orders.createdAt}`.as("createdAt") });

const insertOrder = compile((db, parameter: Parameter<{ petId: Int64 }>) => insert(db, parameter));
const insertOrderOnce = compile((db, parameter: Parameter<{ petId: Int64 } & Attempt>) =>
  insert(db, parameter, isFirstAttempt(db, parameter)),
);

/** Keeps the body of the response, as `toOrder` and JSON.stringify write it. */
const rememberOrder = remember(
  orders,
  orders.id,
  sql`json_object('id', ${orders.id}, 'petId', ${orders.petId}, 'quantity', 1, 'status', ${orders.status}, 'createdAt', ${orders.createdAt}, 'shipDate', ${orders.shipDate}, 'complete', json('false'))`,
);

/** If the statement before changed one row: the order exists with its animal pending, or not at all. */
const holdAnimal = compile((db, parameter: Parameter<{ petId: Int64 }>) =>
  db
    .update(pets)
    .set({ status: "pending", version: sql`${pets.version} + 1` })
    .where(and(eq(pets.id, parameter("petId")), sql`changes() = 1`)),
);

export const placeOrder = createHandlers(guard("store:write"), jsonBody(newOrder), async (c) => {
  const order = c.req.valid("json");
  const { petId } = order;
  const session = openSession(c);
  const attempt = await idempotentAttempt(c, "placeOrder", newOrder(), order);
  if (attempt === undefined) {
    const placed = await create(session, insertOrder({ petId }), holdAnimal({ petId }));
    if (placed === undefined) throw notAvailable();
    const placedOrder = toOrder({ ...placed, petId, status: "placed", shipDate: null });
    return respondWithCreation<Order>(c, placed, JSON.stringify(placedOrder));
  }
  const insertion = insertOrderOnce({ petId, ...attempt });
  const placed = await createOnce(session, attempt, insertion, rememberOrder(attempt), holdAnimal({ petId }));
  if (placed === undefined) throw notAvailable();
  if (!placed.response) throw new Error("The response to an order was not remembered");
  return respondWithCreation<Order>(c, placed, placed.response);
});

function notAvailable(): ApiError {
  return new ApiError("pet_not_available", "The animal does not exist, is not available, or was sold by an order.");
}
