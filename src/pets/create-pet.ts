import { guard } from "../http/guard.ts";
import type { Parameter } from "../db/statement.ts";
import { createHandlers } from "../operation.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { creates } from "../changes/handlers.ts";
import { type Animal, pet } from "./shape.ts";

type NewPet = ReturnType<typeof pet.row>;

const creation = compileCreation(pet, "pet.created", (_db, parameter: Parameter<NewPet>) => ({
  values: pet.values(parameter),
}));

export const createPet = createHandlers(
  guard("pets:write"),
  ...creates("createPet", pet.creation, async (session, animal, attempt) => {
    const row = pet.row(animal);
    const created = await create(session, creation, row, attempt);
    return created && { ...created, response: created.response ?? bodyOfFirstRelease(created.id, row) };
  }),
);

/** Version 1.0.0 stored no response with a key. It had these fields. */
function bodyOfFirstRelease(id: Int64, { name, categoryId, status }: NewPet): Json<Animal> {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}
