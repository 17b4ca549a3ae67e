import { and, eq, exists, type SQLWrapper, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { creates } from "../changes/handlers.ts";
import { compileInsert } from "../changes/insert.ts";
import { compileCompanion } from "../changes/plan.ts";
import { guard } from "../http/guard.ts";
import { now } from "../db/clock.ts";
import { ApiError } from "../errors.ts";
import { toInt64 } from "../exact/json.ts";
import { createHandlers } from "../operation.ts";
import { int64Field, jsonObject, nameField, parsed, rule } from "../http/validation.ts";
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

/** The order and the status of its animal change together. */
const holdAnimal = compileCompanion(pet, "pet.updated", { status: "pending" }, () => sql.placeholder("petId"));

const placement = compileInsert(
  order,
  "order.placed",
  (field: (name: "petId" | "reference") => SQLWrapper) => ({
    petId: pets.id,
    status: sql`'placed'`,
    createdAt: now,
    shipDate: sql`NULL`,
    reference: sql`${field("reference")}`,
    customer: sql`NULL`,
  }),
  {
    from: { table: pets, where: (field) => and(eq(pets.id, field("petId")), eq(pets.status, "available")) },
    rule: {
      isBroken: (db) => exists(activeOrder(db, pets.id)),
      error: () =>
        new ApiError("pet_not_available", "The animal does not exist, is not available, or was sold by an order."),
    },
    companions: holdAnimal,
  },
);

export const placeOrder = createHandlers(
  guard("store:write"),
  ...creates("placeOrder", newOrder, (call, { petId, reference = null }) => placement.one(call, { petId, reference })),
);
