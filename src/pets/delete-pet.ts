import { eq, exists, notExists, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { compileDeletion } from "../changes/deletion.ts";
import { versionsParameters } from "../changes/patch.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { preconditionFailed, preconditionsOf } from "../http/precondition.ts";
import { noBody } from "../http/respond.ts";
import { activeOrder } from "../orders/table.ts";
import { noSuchPet, petId, petOnOrder } from "./pet.ts";
import { pets } from "./table.ts";

const deletion = compileDeletion(pets, "pet.deleted", (db) => notExists(activeOrder(db, pets.id)));

const selectUse = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ onOrder: sql<0 | 1>`${exists(activeOrder(db, pets.id))}`.as("onOrder") })
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export const deletePet = createHandlers(guard("pets:write"), async (c) => {
  const preconditions = preconditionsOf(c);
  const session = openSession(c);
  const target = { id: petId(c), ...versionsParameters(preconditions) };
  // Without a retry: if the first attempt succeeded, the second would respond 404 to the caller whose request deleted it.
  const [, [deleted], [pet]] = await session.writeOnce([...deletion(target), selectUse(target)]);
  if (deleted !== undefined) return noBody(c, 204);
  if (pet === undefined) throw noSuchPet();
  throw pet.onOrder ? petOnOrder("An order that is not cancelled names this animal.") : preconditionFailed();
});
