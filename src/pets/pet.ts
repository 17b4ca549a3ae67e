import { exists } from "drizzle-orm";
import { compileInsert } from "../changes/insert.ts";
import { compileUpdate } from "../changes/update.ts";
import { ApiError } from "../errors.ts";
import { idIn } from "../http/path.ts";
import { placedOrder } from "../orders/table.ts";
import { pet } from "./shape.ts";
import { pets } from "./table.ts";

export const [petId, noSuchPet] = idIn("petId", "animal");

export function petOnOrder(message: string): ApiError {
  return new ApiError("pet_on_order", message);
}

/** The creation of an animal, and of several. */
export const newPet = compileInsert("createPet", pet, "pet.created", pet.values);

/** The patch of an animal, and of several. An animal that a placed order holds keeps its status. */
export const petPatch = compileUpdate("updatePet", pet, "pet.updated", {
  missing: noSuchPet,
  rule: {
    field: "status",
    isBroken: (db) => exists(placedOrder(db, pets.id)),
    error: () => petOnOrder("A placed order holds this animal: ship or cancel the order, which changes the status."),
  },
});
