import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import type { Parameter } from "../db/statement.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody } from "../http/body.ts";
import { jsonObject } from "../http/validation.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { respondWithCreation } from "../changes/respond.ts";
import { lazy } from "../lazy.ts";
import { type PetRow, petFields, statusField, toAnimal } from "./pet.ts";
import { type Animal, animalJson, pets } from "./table.ts";

/** Other fields, `id` among them, are ignored. Add new fields at the end (`valuesOf`). */
export const newPet = lazy(() => jsonObject({ ...petFields(), status: z._default(statusField(), "available") }));
export type NewPet = Omit<PetRow, "id" | "version">;

const creation = compileCreation(pets, "pet.created", animalJson, (_db, parameter: Parameter<NewPet>) => ({
  values: { name: parameter("name"), categoryId: parameter("categoryId"), status: parameter("status") },
}));

export const createPet = createHandlers(guard("pets:write"), jsonBody(newPet), async (c) => {
  const pet = c.req.valid("json");
  const attempt = await idempotentAttempt(c, "createPet", ...valuesOf(newPet(), pet));
  const session = openSession(c);
  const created = await create(session, creation, pet, attempt);
  if (created === undefined) throw new Error("INSERT ... RETURNING returned no row");
  return respondWithCreation<Animal>(c, created, () => toAnimal({ id: created.id, ...pet }));
});
