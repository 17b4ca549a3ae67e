import { eq, exists, notExists, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { storedColumns } from "../db/resource.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { patches } from "../changes/handlers.ts";
import { compilePatch } from "../changes/patch.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { placedOrder } from "../orders/table.ts";
import { noSuchPet, petHeld, petId } from "./pet.ts";
import { pet } from "./shape.ts";
import { pets } from "./table.ts";

const patch = compilePatch(pet, "pet.updated", (db, _parameter, fields) =>
  fields.includes("status") ? notExists(placedOrder(db, pets.id)) : undefined,
);

/** The animal, with a column that tells whether a placed order holds it. */
const select = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ ...storedColumns(pet), held: sql<0 | 1>`${exists(placedOrder(db, pets.id))}`.as("held") })
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export const updatePet = createHandlers(
  guard("pets:write"),
  ...patches("updatePet", pet.patch, {
    id: petId,
    patch,
    select,
    missing: noSuchPet,
    conflict: ({ held }, { status }) => (status !== undefined && held ? petHeld() : undefined),
  }),
);
