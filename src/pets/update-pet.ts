import { patches } from "../changes/handlers.ts";
import { compileUpdate } from "../changes/update.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { petId, petPatch } from "./pet.ts";
import { pet } from "./shape.ts";

const update = compileUpdate("updatePet", pet, "pet.updated", petPatch);
const patch = { ...update, select: update.compileSelect() };

export const updatePet = createHandlers(guard("pets:write"), ...patches("updatePet", pet.patch, petId, patch));
