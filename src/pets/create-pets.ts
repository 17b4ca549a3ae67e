import { changesAll } from "../changes/handlers.ts";
import { guard } from "../http/guard.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { batchOf } from "./batch.ts";
import { newPet } from "./pet.ts";
import { pet } from "./shape.ts";

export const newPets = lazy(() => batchOf(pet.creation(), "animals"));

export const createPets = createHandlers(
  guard("pets:write"),
  ...changesAll("createPets", 201, newPets, pet.creation, (call, animals) => newPet.all(call, animals)),
);
