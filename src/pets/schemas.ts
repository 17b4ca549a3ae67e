import * as z from "zod/mini";
import { MAX_NAME_CHARACTERS, PET_STATUSES, type PetStatus } from "../db/schema.ts";
import { jsonInteger, toInt64 } from "../http/json.ts";
import type { Int64 } from "../int64.ts";
import { decodeCursor } from "./cursor.ts";
import type { Pet } from "./queries.ts";

const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

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

/** The error of a field: its rule, which is all that a client needs to mend the request. */
function rule(text: string) {
  return {
    error: ({ input }: { input?: unknown }) => `${input === undefined ? "is required:" : "has to be"} ${text}`,
  };
}

const NAME_RULE = rule(`a string of 1 to ${MAX_NAME_CHARACTERS} well-formed characters, not only white space`);
const CATEGORY_ID_RULE = rule("an integer from -2^63 to 2^63 - 1");
const STATUS_RULE = rule(`one of ${PET_STATUSES.join(", ")}`);
const LIMIT_RULE = rule(`an integer from 1 to ${MAX_LIMIT}, in decimal digits`);
const CURSOR_RULE = rule("one that this service handed out in a Link header");

/** What `parse` makes of a value; undefined breaks the rule. `Input` is what a client has to send. */
function parsed<Input, Output>(parse: (value: unknown) => Output | undefined, { error }: ReturnType<typeof rule>) {
  return z.pipe(
    z.unknown() as z.ZodMiniType<Input, Input>,
    z.transform((input, context): Output => {
      const output = parse(input);
      if (output !== undefined) return output;
      context.issues.push({ code: "custom", message: error({ input }), input });
      return z.NEVER;
    }),
  );
}

const status = z.enum(PET_STATUSES, STATUS_RULE);

/** The body of `createPet`. Other fields, `id` among them, are ignored. */
export const newPet = z.object(
  {
    name: z.string(NAME_RULE).check(z.refine(isName, NAME_RULE)),
    categoryId: parsed<number, Int64>(toInt64, CATEGORY_ID_RULE),
    status: z._default(status, "available"),
  },
  { error: "The request body has to be a JSON object" },
);

/** The query of `listPets`. Other parameters are ignored; one that is given twice arrives as an array, and is refused. */
export const listPetsQuery = z.object({
  limit: z._default(parsed<string, number>(toLimit, LIMIT_RULE), DEFAULT_LIMIT),
  status: z.optional(status),
  cursor: z.optional(
    parsed<string, Int64>((value) => (typeof value === "string" ? decodeCursor(value) : undefined), CURSOR_RULE),
  ),
});

function toLimit(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d+$/.test(value)) return undefined;
  const limit = Number(value);
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined;
}

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
