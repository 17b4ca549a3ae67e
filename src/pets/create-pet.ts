import { creates } from "../changes/handlers.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { newPet } from "./pet.ts";
import { pet } from "./shape.ts";

export const createPet = createHandlers(
  guard("pets:write"),
  ...creates("createPet", pet.creation, (call, animal) => newPet.one(call, pet.row(animal))),
);
