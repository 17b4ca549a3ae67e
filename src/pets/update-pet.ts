import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { applyPatch, compilePatch, isInEffect } from "../db/versioned.ts";
import type { AppEnv } from "../env.ts";
import { openSession } from "../http/bookmark.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { ifMatch, preconditionFailed, setEntityTag } from "../http/precondition.ts";
import { json } from "../http/respond.ts";
import { nameField } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { categoryIdField, noSuchPet, petId, selectPet, statusField, toAnimal } from "./pet.ts";
import { pets } from "./table.ts";

/** Other fields are ignored. */
export const petPatch = lazy(() =>
  z.object(
    { name: z.optional(nameField()), categoryId: z.optional(categoryIdField()), status: z.optional(statusField()) },
    { error: "The request body has to be a JSON object" },
  ),
);

const patchPet = compilePatch(pets, { name: pets.name, categoryId: pets.categoryId, status: pets.status });

export const updatePet = createFactory<AppEnv, "/:petId">().createHandlers(
  guard("pets:write"),
  jsonBody(petPatch, MERGE_PATCH),
  async (c) => {
    const patch = c.req.valid("json");
    const versions = ifMatch(c);
    const session = openSession(c);
    const id = petId(c);
    const pet = await applyPatch(session, patchPet(id, patch, versions), selectPet({ id }));
    if (pet === undefined) throw noSuchPet();
    if (!isInEffect(pet, patch, versions)) throw preconditionFailed();
    setEntityTag(c, pet.version);
    return json(c, toAnimal(pet), 200);
  },
);
