import { createRoutes } from "../operation.ts";
import { createPet } from "./create-pet.ts";
import { createPets } from "./create-pets.ts";
import { deletePet } from "./delete-pet.ts";
import { getPet } from "./get-pet.ts";
import { importPets } from "./import-pets.ts";
import { listPets } from "./list-pets.ts";
import { updatePet } from "./update-pet.ts";
import { updatePets } from "./update-pets.ts";

export const pets = createRoutes()
  .get("/", ...listPets)
  .post("/", ...createPet)
  .post("/batch", ...createPets)
  .patch("/batch", ...updatePets)
  .put("/batch", ...importPets)
  // For other methods, /:petId would take it for an id.
  .all("/batch", (c) => c.notFound())
  .get("/:petId", ...getPet)
  .patch("/:petId", ...updatePet)
  .delete("/:petId", ...deletePet);
