import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { isLongNumber } from "../exact/json.ts";
import { compileBatch, createBatch } from "../changes/batch.ts";
import { createsAll } from "../changes/handlers.ts";
import { lazy } from "../lazy.ts";
import { pet } from "./shape.ts";

/** Maximum number of animals in a batch. */
export const MAX_BATCH = 100;

const isBatch = (value: unknown) =>
  Array.isArray(value) && !isLongNumber(value) && value.length >= 1 && value.length <= MAX_BATCH;

/** The number is checked first: 64 KiB hold more invalid animals than a message can name. */
export const newPets = lazy(() =>
  z.pipe(
    z.custom<z.input<ReturnType<typeof pet.creation>>[]>(
      isBatch,
      `has to be a JSON array of 1 to ${MAX_BATCH} animals`,
    ),
    z.array(pet.creation()),
  ),
);

const batch = compileBatch(pet, "pet.created", pet.values);

export const createPets = createHandlers(
  guard("pets:write"),
  ...createsAll("createPets", newPets, pet.creation, (session, animals, attempt) =>
    createBatch(session, batch, animals, attempt),
  ),
);
