import * as z from "zod/mini";
import { PET_STATUSES } from "../db/schema.ts";
import { jsonInteger, toInt64 } from "../http/json.ts";
import type { Int64 } from "../int64.ts";
import { decodeCursor } from "./cursor.ts";
import type { Pet, PetStatus } from "./queries.ts";

const MAX_NAME_CHARACTERS = 255;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/**
 * Any character that is not white space. The classes of regular expression engines differ in what they call white space,
 * so this one is spelled out: Unicode's White_Space property and U+FEFF.
 */
const NOT_WHITE_SPACE = /[^\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]/;

/** Characters are code points, as in JSON Schema: "🐕" is one of them, and two UTF-16 units. */
function isName(name: string): boolean {
  if (name.length > 2 * MAX_NAME_CHARACTERS || !NOT_WHITE_SPACE.test(name) || !name.isWellFormed()) return false;
  return name.length <= MAX_NAME_CHARACTERS || [...name].length <= MAX_NAME_CHARACTERS;
}

const NAME_RULE = {
  error: `is required: a string of 1 to ${MAX_NAME_CHARACTERS} characters (well-formed Unicode), not only white space`,
};
const STATUS_RULE = { error: `has to be one of ${PET_STATUSES.join(", ")}` };
const LIMIT_RULE = { error: `has to be an integer from 1 to ${MAX_LIMIT}, in decimal digits` };

/** An integer of the request body, as the exact parser left it. */
const int64 = z.pipe(
  z.unknown(),
  z.transform((value, context): Int64 => {
    const integer = toInt64(value);
    if (integer !== undefined) return integer;
    context.issues.push({
      code: "custom",
      message: "is required: an integer from -2^63 to 2^63 - 1",
      input: value,
    });
    return z.NEVER;
  }),
);

const status = z.enum(PET_STATUSES, STATUS_RULE);

/** The body of `createPet`. Other fields, `id` among them, are ignored. */
export const newPet = z.object(
  {
    name: z.string(NAME_RULE).check(z.refine(isName, NAME_RULE)),
    categoryId: int64,
    status: z._default(status, "available"),
  },
  { error: "The request body has to be a JSON object" },
);

/** The query of `listPets`. Other parameters are ignored; one that is given twice arrives as an array, and is refused. */
export const listPetsQuery = z.object({
  limit: z._default(
    z.pipe(
      z
        .string(LIMIT_RULE)
        .check(z.refine((digits) => /^\d+$/.test(digits) && +digits >= 1 && +digits <= MAX_LIMIT, LIMIT_RULE)),
      z.transform(Number),
    ),
    DEFAULT_LIMIT,
  ),
  status: z.optional(status),
  cursor: z.optional(
    z.pipe(
      z.unknown(),
      z.transform((value, context): Int64 => {
        const after = typeof value === "string" ? decodeCursor(value) : undefined;
        if (after !== undefined) return after;
        context.issues.push({
          code: "custom",
          message: "has to be one that this service handed out in a Link header",
          input: value,
        });
        return z.NEVER;
      }),
    ),
  ),
});

/** An animal as clients see it. */
export interface Animal {
  id: number;
  name: string;
  categoryId: number;
  status: PetStatus;
}

/** The one place where a row becomes an answer: a new column shows only when it is named here. */
export function toAnimal({ id, name, categoryId, status }: Pet): Animal {
  return { id: jsonInteger(id), name, categoryId: jsonInteger(categoryId), status };
}
