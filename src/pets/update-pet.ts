import { eq, exists, notExists, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { applyPatch, compilePatch, versionsParameters } from "../changes/patch.ts";
import { respondWithPatch } from "../changes/respond.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { preconditionsOf } from "../http/precondition.ts";
import { jsonObject } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { placedOrder } from "../orders/table.ts";
import { noSuchPet, petColumns, petFields, petId, petOnOrder, toAnimal } from "./pet.ts";
import { animalJson, pets } from "./table.ts";

export const petPatch = lazy(() => z.partial(jsonObject(petFields())));

const patchPet = compilePatch(pets, "pet.updated", petPatch, animalJson, (db, _parameter, fields) =>
  fields.includes("status") ? notExists(placedOrder(db, pets.id)) : undefined,
);

/** The animal, with a column that tells whether a placed order holds it. */
const selectPetToPatch = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ ...petColumns(), held: sql<0 | 1>`${exists(placedOrder(db, pets.id))}`.as("held") })
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export const updatePet = createHandlers(guard("pets:write"), jsonBody(petPatch, MERGE_PATCH), async (c) => {
  const patch = c.req.valid("json");
  const preconditions = preconditionsOf(c);
  const values = valuesOf(petPatch(), patch);
  const attempt = await idempotentAttempt(c, "updatePet", c.req.param("petId"), preconditions, ...values);
  const session = openSession(c);
  const target = { id: petId(c), ...versionsParameters(preconditions) };
  const outcome = await applyPatch(session, patchPet(target, patch, attempt), selectPetToPatch(target), attempt);
  return respondWithPatch(c, outcome, preconditions, toAnimal, noSuchPet, ({ held }) =>
    patch.status !== undefined && held
      ? petOnOrder("A placed order holds this animal: ship or cancel the order, which changes the status.")
      : undefined,
  );
});
