import { and, eq, notExists, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { now } from "../db/clock.ts";
import { compileConsequence } from "../db/sequence.ts";
import type { Parameter } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { toInt64 } from "../exact/json.ts";
import { compileEvent } from "../feed/event.ts";
import { createHandlers } from "../operation.ts";
import { int64Field, jsonObject, nameField, parsed, rule } from "../http/validation.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { creates } from "../changes/handlers.ts";
import { lazy } from "../lazy.ts";
import { pet } from "../pets/shape.ts";
import { pets } from "../pets/table.ts";
import { order } from "./order.ts";
import { activeOrder } from "./table.ts";

/** Add new fields at the end (`valuesOf`). */
export const newOrder = lazy(() =>
  jsonObject({
    petId: int64Field(),
    quantity: z._default(
      parsed<1, 1>((value) => (toInt64(value) === "1" ? 1 : undefined), rule("1")),
      1,
    ),
    reference: z.optional(nameField()),
  }),
);

interface Placement {
  petId: Int64;
  reference: string | null;
}

const creation = compileCreation(order, "order.placed", (db, parameter: Parameter<Placement>) => ({
  values: {
    petId: pets.id,
    status: sql`'placed'`,
    createdAt: now,
    shipDate: sql`NULL`,
    reference: sql`${parameter("reference")}`,
  },
  from: pets,
  where: and(eq(pets.id, parameter("petId")), eq(pets.status, "available"), notExists(activeOrder(db, pets.id))),
}));

/** The order and the status of its animal change together. */
const holdAnimal = compileConsequence((db, parameter: Parameter<{ id: Int64 }>, ifChanged) =>
  db
    .update(pets)
    .set({ status: "pending", version: sql`${pets.version} + 1` })
    .where(eq(pets.id, ifChanged(parameter("id")))),
);
const recordHold = compileEvent("pet.updated", pet);

export const placeOrder = createHandlers(
  guard("store:write"),
  ...creates(
    "placeOrder",
    newOrder,
    (session, { petId, reference = null }, attempt) =>
      create(session, creation, { petId, reference }, attempt, holdAnimal({ id: petId }), recordHold({ id: petId })),
    notAvailable,
  ),
);

function notAvailable(): ApiError {
  return new ApiError("pet_not_available", "The animal does not exist, is not available, or was sold by an order.");
}
