import { eq } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Context } from "hono";
import * as z from "zod/mini";
import type { Complete } from "../db/json-object.ts";
import { compile, type Parameter } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import { jsonInteger } from "../exact/json.ts";
import { idInPath } from "../http/path.ts";
import { int64Field, nameField, rule } from "../http/validation.ts";
import { type Animal, PET_STATUSES, pets } from "./table.ts";

export const statusField = () => z.enum(PET_STATUSES, rule(`one of ${PET_STATUSES.join(", ")}`));

/** The fields that clients send. Add a new one at the end, optional and without a default (`valuesOf`). */
export const petFields = () => ({ name: nameField(), categoryId: int64Field(), status: statusField() });

/**
 * The id in the path.
 *
 * @throws ApiError `not_found`
 */
export function petId(c: Context<AppEnv, "/:petId">): Int64 {
  return idInPath(c.req.param("petId"), noSuchPet);
}

export function noSuchPet(): ApiError {
  return new ApiError("not_found", "There is no animal with this id.");
}

export function petOnOrder(message: string): ApiError {
  return new ApiError("pet_on_order", message);
}

/** The columns of an animal, exact. */
export const petColumns = () => ({
  id: exact(pets.id).as("id"),
  name: pets.name,
  categoryId: exact(pets.categoryId).as("categoryId"),
  status: pets.status,
  version: pets.version,
});

/** An animal as the database holds it. */
export type PetRow = SelectResultFields<ReturnType<typeof petColumns>>;

export const selectPet = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select(petColumns())
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

/** The only place that turns a row into a response. A new column appears in it only when it is added here. */
export function toAnimal({ id, name, categoryId, status }: Omit<PetRow, "version">): Complete<Animal> {
  return { id: jsonInteger(id), name, categoryId: jsonInteger(categoryId), status };
}
