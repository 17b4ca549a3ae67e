import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { compileBatch, createBatch } from "../changes/batch.ts";
import { changesAll } from "../changes/handlers.ts";
import { lazy } from "../lazy.ts";
import { batchOf } from "./batch.ts";
import { pet } from "./shape.ts";

export const newPets = lazy(() => batchOf(pet.creation(), "animals"));

const batch = compileBatch(pet, "pet.created", pet.values);

export const createPets = createHandlers(
  guard("pets:write"),
  ...changesAll("createPets", 201, newPets, pet.creation, (session, animals, attempt) =>
    createBatch(session, batch, animals, attempt),
  ),
);
