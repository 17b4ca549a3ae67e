import { exists } from "drizzle-orm";
import { compileDeletion } from "../changes/delete.ts";
import { removes } from "../changes/handlers.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { activeOrder } from "../orders/table.ts";
import { noSuchPet, petId, petOnOrder } from "./pet.ts";
import { pet } from "./shape.ts";
import { pets } from "./table.ts";

const deletion = compileDeletion("deletePet", pet, "pet.deleted", noSuchPet, {
  isBroken: (db) => exists(activeOrder(db, pets.id)),
  error: () => petOnOrder("An order that is not cancelled names this animal."),
});

export const deletePet = createHandlers(guard("pets:write"), removes("deletePet", petId, deletion));
