import { exists } from "drizzle-orm";
import type { Options } from "../changes/update.ts";
import { ApiError } from "../errors.ts";
import { idIn } from "../http/path.ts";
import { placedOrder } from "../orders/table.ts";
import type { pet } from "./shape.ts";
import { pets } from "./table.ts";

export const [petId, noSuchPet] = idIn("petId", "animal");

export function petOnOrder(message: string): ApiError {
  return new ApiError("pet_on_order", message);
}

/** The patch of an animal, and of several. An animal that a placed order holds keeps its status. */
export const petPatch: Options<keyof typeof pet.fields> = {
  missing: noSuchPet,
  // Each index with the status has the category too, or needs no write for it.
  sets: [[], ["categoryId"], ["categoryId", "status"]],
  rule: {
    field: "status",
    isBroken: (db) => exists(placedOrder(db, pets.id)),
    error: () => petOnOrder("A placed order holds this animal: ship or cancel the order, which changes the status."),
  },
};
