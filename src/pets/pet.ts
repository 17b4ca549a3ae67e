import type { Context } from "hono";
import * as z from "zod/mini";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";
import { jsonInteger, toInt64 } from "../exact/json.ts";
import { parsed, rule } from "../http/validation.ts";
import { MAX_NAME_CHARACTERS, PET_STATUSES, type PetStatus, pets } from "./table.ts";

/**
 * Any character that is not white space: JavaScript's `\s` is Unicode's White_Space property and U+FEFF, but for U+0085. Spelled
 * with `\s`, because the document publishes it, and code generators stumble over a literal U+2028.
 */
export const NOT_WHITE_SPACE = /[^\s\u0085]/;

/** Characters are code points, as in JSON Schema: "🐕" is one of them, and two UTF-16 units. */
function isName(name: string): boolean {
  if (name.length > 2 * MAX_NAME_CHARACTERS || !NOT_WHITE_SPACE.test(name) || !name.isWellFormed()) return false;
  return name.length <= MAX_NAME_CHARACTERS || [...name].length <= MAX_NAME_CHARACTERS;
}

export const nameField = () => {
  const nameRule = rule(`a string of 1 to ${MAX_NAME_CHARACTERS} well-formed characters, not only white space`);
  return z.string(nameRule).check(z.refine(isName, nameRule));
};
export const categoryIdField = () => parsed<number, Int64>(toInt64, rule("an integer from -2^63 to 2^63 - 1"));
export const statusField = () => z.enum(PET_STATUSES, rule(`one of ${PET_STATUSES.join(", ")}`));

/**
 * The id in the path. A text that is not the canonical decimal form of an int64 names no animal.
 *
 * @throws ApiError `not_found`
 */
export function petId(c: Context<AppEnv, "/:petId">): Int64 {
  const id = c.req.param("petId");
  if (!isInt64(id)) throw noSuchPet();
  return id;
}

export function noSuchPet(): ApiError {
  return new ApiError("not_found", "There is no animal with this id.");
}

/** An animal as the database holds it. */
export interface Pet {
  id: Int64;
  name: string;
  categoryId: Int64;
  status: PetStatus;
}

/** The columns of a `Pet`, exact. */
export const petColumns = () => ({
  id: exact(pets.id).as("id"),
  name: pets.name,
  categoryId: exact(pets.categoryId).as("categoryId"),
  status: pets.status,
});

/** An animal as clients see it. */
export interface Animal {
  id: number;
  name: string;
  categoryId: number;
  status: PetStatus;
}

/** The one place where a row becomes a response: a new column shows only when it is named here. */
export function toAnimal({ id, name, categoryId, status }: Pet): Animal {
  return { id: jsonInteger(id), name, categoryId: jsonInteger(categoryId), status };
}
