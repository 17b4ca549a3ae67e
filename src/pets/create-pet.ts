import { creates } from "../changes/handlers.ts";
import { compileInsert } from "../changes/insert.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { hasOwnExternalId } from "./pet.ts";
import { pet } from "./shape.ts";

const insert = compileInsert("createPet", pet, "pet.created", pet.values, { rule: hasOwnExternalId });

export const createPet = createHandlers(
  guard("pets:write"),
  ...creates("createPet", pet.creation, (call, animal) => insert(call, pet.row(animal))),
);
