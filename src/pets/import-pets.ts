import { eq, exists, or, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { upserts } from "../changes/handlers.ts";
import { compileUpsert } from "../changes/upsert.ts";
import { guard } from "../http/guard.ts";
import { jsonObject } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { activeOrder, orders } from "../orders/table.ts";
import { batchOf } from "./batch.ts";
import { DECIDED, petOnOrder } from "./pet.ts";
import { externalIdField, pet, statusField } from "./shape.ts";
import { pets } from "./table.ts";

/** As for a creation, but it needs its id in the other system, and no status is the present one. */
export const importedPet = lazy(() => {
  const { externalId: _externalId, ...fields } = pet.creation().shape;
  return jsonObject({ externalId: externalIdField(), ...fields, status: z.optional(statusField()) });
});

export const importedPets = lazy(() => batchOf(importedPet(), "animals", "externalId"));

const upsert = compileUpsert("importPets", pet, {
  created: "pet.created",
  updated: "pet.updated",
  key: "externalId",
  values: pet.values,
  defaults: { status: sql`'available'` },
  // Every item names the category.
  sets: [["categoryId"], ["categoryId", "status"]],
  // The other system does not know of the order, and would offer the animal again.
  rule: {
    field: "status",
    isBroken: (db, { value }) => {
      const refuses = or(eq(orders.status, "placed"), sql`${value("status")} <> 'sold'`);
      return sql`(${pets.status} IS NOT ${value("status")} AND ${exists(activeOrder(db, pets.id, refuses))})`;
    },
    error: () => petOnOrder(`${DECIDED}. Leave status out.`),
  },
});

export const importPets = createHandlers(guard("pets:write"), ...upserts("importPets", importedPets, upsert));
