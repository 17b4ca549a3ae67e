import { guard } from "../http/guard.ts";
import type { Parameter } from "../db/statement.ts";
import { createHandlers } from "../operation.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { creates } from "../changes/handlers.ts";
import { pet } from "./shape.ts";

type NewPet = ReturnType<typeof pet.row>;

const creation = compileCreation(pet, "pet.created", (_db, parameter: Parameter<NewPet>) => ({
  values: pet.values(parameter),
}));

export const createPet = createHandlers(
  guard("pets:write"),
  ...creates("createPet", pet.creation, (session, animal, attempt) =>
    create(session, creation, pet.row(animal), attempt),
  ),
);
