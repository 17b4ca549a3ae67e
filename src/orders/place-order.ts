import { and, eq, notExists, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { now } from "../db/clock.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { toInt64 } from "../exact/json.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody } from "../http/body.ts";
import { int64Field, jsonObject, parsed, rule } from "../http/validation.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { compileEvent, ifChanged } from "../changes/event.ts";
import { respondWithCreation } from "../changes/respond.ts";
import { lazy } from "../lazy.ts";
import { animalJson, pets } from "../pets/table.ts";
import { type Order, orderJson } from "./order.ts";
import { activeOrder, orders } from "./table.ts";

/** Add new fields at the end (`valuesOf`). */
export const newOrder = lazy(() =>
  jsonObject({
    petId: int64Field(),
    quantity: z._default(
      parsed<1, 1>((value) => (toInt64(value) === "1" ? 1 : undefined), rule("1")),
      1,
    ),
  }),
);

const creation = compileCreation(orders, "order.placed", orderJson, (db, parameter: Parameter<{ petId: Int64 }>) => ({
  values: { petId: pets.id, status: sql`'placed'`, createdAt: now, shipDate: sql`NULL` },
  from: pets,
  where: and(eq(pets.id, parameter("petId")), eq(pets.status, "available"), notExists(activeOrder(db, pets.id))),
}));

/** Runs only if the previous statement changed one row: the order and the status of its animal change together. */
const holdAnimal = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .update(pets)
    .set({ status: "pending", version: sql`${pets.version} + 1` })
    .where(eq(pets.id, ifChanged(parameter("id")))),
);
const recordHold = compileEvent("pet.updated", pets, animalJson);

export const placeOrder = createHandlers(guard("store:write"), jsonBody(newOrder), async (c) => {
  const order = c.req.valid("json");
  const { petId } = order;
  const attempt = await idempotentAttempt(c, "placeOrder", ...valuesOf(newOrder(), order));
  const session = openSession(c);
  const animal = { id: petId };
  const placed = await create(session, creation, { petId }, attempt, holdAnimal(animal), recordHold(animal));
  if (placed === undefined) throw notAvailable();
  return respondWithCreation<Order>(c, placed);
});

function notAvailable(): ApiError {
  return new ApiError("pet_not_available", "The animal does not exist, is not available, or was sold by an order.");
}
