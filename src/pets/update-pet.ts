import { eq, exists, notExists, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { applyChange, compilePatch, isInEffect } from "../changes/patch.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { ifMatch, preconditionFailed, setEntityTag } from "../http/precondition.ts";
import { json } from "../http/respond.ts";
import { jsonObject } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { placedOrder } from "../orders/table.ts";
import { noSuchPet, petColumns, petFields, petId, petOnOrder, toAnimal } from "./pet.ts";
import { pets } from "./table.ts";

export const petPatch = lazy(() => z.partial(jsonObject(petFields())));

const patchPet = compilePatch(pets, petPatch, (db, _parameter, fields) =>
  fields.includes("status") ? notExists(placedOrder(db, pets.id)) : undefined,
);

/** With whether a placed order holds the animal. */
const selectPet = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({
      ...petColumns(),
      version: pets.version,
      held: sql<0 | 1>`${exists(placedOrder(db, pets.id))}`.as("held"),
    })
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export const updatePet = createHandlers(guard("pets:write"), jsonBody(petPatch, MERGE_PATCH), async (c) => {
  const patch = c.req.valid("json");
  const versions = ifMatch(c);
  const session = openSession(c);
  const id = petId(c);
  // Without a version, a second run could undo what somebody else changed after the first.
  const pet = await applyChange(session, patchPet(id, patch, versions), selectPet({ id }), versions !== undefined);
  if (pet === undefined) throw noSuchPet();
  if (patch.status !== undefined && pet.held) {
    throw petOnOrder("A placed order holds this animal: ship or cancel the order, which changes the status.");
  }
  if (!isInEffect(pet, patch, versions)) throw preconditionFailed();
  setEntityTag(c, pet.version);
  return json(c, toAnimal(pet), 200);
});
