import { eq, exists, or, sql } from "drizzle-orm";
import { isUnique } from "../changes/rule.ts";
import type { Options } from "../changes/update.ts";
import { ApiError } from "../errors.ts";
import { idIn } from "../http/path.ts";
import { activeOrder, orders } from "../orders/table.ts";
import type { pet } from "./shape.ts";
import { pets } from "./table.ts";

export const [petId, noSuchPet] = idIn("petId", "animal");

export function petOnOrder(message: string): ApiError {
  return new ApiError("pet_on_order", message);
}

export const DECIDED = "An order decides the status of this animal";

/** No other animal has its external id. */
export const hasOwnExternalId = {
  ...isUnique(pets, "externalId", () => new ApiError("external_id_taken", "Another animal has this externalId.")),
  mayBeAbsent: true,
} as const;

/**
 * The patch of an animal, and of several. The order of an animal that is not cancelled decides its status. A patch that names the status
 * of an animal of a placed order is always refused: it would claim the animal. That of a shipped order may be sold again, because version
 * 1.3.0 let clients make it available, which nobody could order.
 */
export const petPatch: Options<keyof typeof pet.fields> = {
  missing: noSuchPet,
  // Each index with the status has the category too, or needs no write for it.
  sets: [[], ["externalId"], ["categoryId"], ["categoryId", "status"], ["categoryId", "status", "externalId"]],
  rules: [
    {
      field: "status",
      isBroken: (db, { value }) => {
        const frees = sql`${value("status")} NOT IN (${pets.status}, 'sold')`;
        return exists(activeOrder(db, pets.id, or(eq(orders.status, "placed"), frees)));
      },
      error: () => petOnOrder(`${DECIDED}: ship or cancel the order. After a shipment, the animal stays sold.`),
    },
    hasOwnExternalId,
  ],
};
