import { changesAll } from "../changes/handlers.ts";
import { compileInsertOfSeveral } from "../changes/insert-several.ts";
import { guard } from "../http/guard.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { batchOf } from "./batch.ts";
import { hasOwnExternalId } from "./pet.ts";
import { pet } from "./shape.ts";

export const newPets = lazy(() => batchOf(pet.creation(), "animals", "externalId"));

const insert = compileInsertOfSeveral("createPets", pet, "pet.created", pet.values, hasOwnExternalId);

export const createPets = createHandlers(
  guard("pets:write"),
  ...changesAll("createPets", 201, newPets, pet.creation, (call, animals) => insert(call, animals.map(pet.row))),
);
