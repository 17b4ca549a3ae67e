import * as z from "zod/mini";
import { patchRows } from "../changes/patch.ts";
import { compileUpdateOfSeveral } from "../changes/update-several.ts";
import { guard } from "../http/guard.ts";
import { changesAll } from "../changes/handlers.ts";
import { int64Field, jsonObject, versionField } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { batchOf } from "./batch.ts";
import { petPatch } from "./pet.ts";
import { pet } from "./shape.ts";

export const petChange = lazy(() =>
  jsonObject({ id: int64Field(), version: z.optional(versionField()), ...pet.patch().shape }),
);

export const petChanges = lazy(() => batchOf(petChange(), "changes", "id", "externalId"));

const patch = compileUpdateOfSeveral("updatePets", pet, "pet.updated", petPatch);

export const updatePets = createHandlers(
  guard("pets:write"),
  ...changesAll("updatePets", 200, petChanges, petChange, (call, changes) => patchRows(call, patch, changes)),
);
