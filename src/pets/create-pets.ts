import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../create-handlers.ts";
import { isLongNumber } from "../exact/json.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody } from "../http/body.ts";
import { idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { compileBatch, createBatch } from "../changes/batch.ts";
import { respondWithBatch } from "../changes/respond.ts";
import { lazy } from "../lazy.ts";
import { newPet } from "./create-pet.ts";
import { type Animal, animalJson, pets } from "./table.ts";

/** Maximum number of animals in a batch. */
export const MAX_BATCH = 100;

const isBatch = (value: unknown) =>
  Array.isArray(value) && !isLongNumber(value) && value.length >= 1 && value.length <= MAX_BATCH;

/** The number is checked first: 64 KiB hold more invalid animals than a message can name. */
export const newPets = lazy(() =>
  z.pipe(
    z.custom<z.input<ReturnType<typeof newPet>>[]>(isBatch, `has to be a JSON array of 1 to ${MAX_BATCH} animals`),
    z.array(newPet()),
  ),
);

const batch = compileBatch(pets, "pet.created", animalJson, (item) => ({
  name: item("name"),
  categoryId: item("categoryId"),
  status: item("status"),
}));

export const createPets = createHandlers(guard("pets:write"), jsonBody(newPets), async (c) => {
  const animals = c.req.valid("json");
  const values = animals.map((animal) => valuesOf(newPet(), animal));
  const attempt = await idempotentAttempt(c, "createPets", ...values);
  const session = openSession(c);
  return respondWithBatch<Animal[]>(c, await createBatch(session, batch, animals, attempt));
});
