import { exists } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { changesAll } from "../changes/handlers.ts";
import { compilePatchBatch, patchBatch } from "../changes/patch-batch.ts";
import { int64Field, jsonObject, versionField } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { placedOrder } from "../orders/table.ts";
import { batchOf } from "./batch.ts";
import { noSuchPet, petHeld } from "./pet.ts";
import { pet } from "./shape.ts";
import { pets } from "./table.ts";

export const petChange = lazy(() =>
  jsonObject({ id: int64Field(), version: z.optional(versionField()), ...pet.patch().shape }),
);

/** An id may occur once: two changes of an animal would depend on their order. */
export const petChanges = lazy(() => {
  const changes = batchOf(petChange(), "changes");
  return changes.check(({ value, issues }) => {
    const known = new Set<string>();
    for (const [place, { id }] of value.entries()) {
      if (known.has(id))
        issues.push({ code: "custom", path: [place, "id"], message: "is that of an earlier item", input: id });
      known.add(id);
    }
  });
});

const batch = compilePatchBatch(pet, "pet.updated", {
  field: "status",
  exists: (db) => exists(placedOrder(db, pets.id)),
});

export const updatePets = createHandlers(
  guard("pets:write"),
  ...changesAll("updatePets", 200, petChanges, petChange, (session, changes, attempt) =>
    patchBatch(session, batch, changes, attempt, {
      missing: noSuchPet,
      isAffected: ({ status }) => status !== undefined,
      conflict: petHeld,
    }),
  ),
);
