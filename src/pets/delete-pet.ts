import { eq, exists, notExists, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { compileDeletion } from "../changes/deletion.ts";
import { removes } from "../changes/handlers.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { preconditionFailed } from "../http/precondition.ts";
import { activeOrder } from "../orders/table.ts";
import { noSuchPet, petId, petOnOrder } from "./pet.ts";
import { pet } from "./shape.ts";
import { pets } from "./table.ts";

const deletion = compileDeletion(pet, "pet.deleted", (db) => notExists(activeOrder(db, pets.id)));
const selectUse = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ onOrder: sql<0 | 1>`${exists(activeOrder(db, pets.id))}`.as("onOrder") })
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export const deletePet = createHandlers(
  guard("pets:write"),
  removes("deletePet", petId, async (session, target) => {
    // Without a retry: if the first attempt succeeded, the second would respond 404 to the caller whose request deleted it.
    const [, [deleted], [pet]] = await session.writeOnce([...deletion(target), selectUse(target)]);
    if (deleted !== undefined) return;
    if (pet === undefined) throw noSuchPet();
    throw pet.onOrder ? petOnOrder("An order that is not cancelled names this animal.") : preconditionFailed();
  }),
);
