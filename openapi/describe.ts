// The types in which each resource describes its operations (openapi/resources/), and the parts of the document that they share.
import type { ContentObject, ParameterObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";
import * as z from "zod/mini";
import { SORTS } from "../src/db/page.ts";
import type { Versioned } from "../src/db/resource.ts";
import type { ErrorCode } from "../src/errors.ts";
import { encodeEventCursor, EVENT_CURSOR } from "../src/feed/place.ts";
import { CURSOR } from "../src/http/cursor.ts";
import type { Field, Shape } from "../src/http/shape.ts";
import { MAX_NAME_CHARACTERS } from "../src/name.ts";
import { CUSTOMER } from "../src/http/validation.ts";
import { DEFAULT_LIMIT, MAX_LIMIT } from "../src/http/paging.ts";

export type Stability = "stable" | "beta" | "experimental";

export interface Resource {
  tag: { name: string; description: string };
  /** The message of `not_found` when there is no row with the id in the path. */
  missing?: string;
  schemas: { [name: string]: SchemaObject };
  operations: { [operationId: string]: Operation };
}

/** The description of an operation. The rest is in its handlers: see openapi/operation.ts. */
export interface Operation {
  stability: Stability;
  summary: string;
  description: string;
  /** The descriptions of its query and path parameters, with the facts that the schema of the query does not hold. */
  parameters?: { [name: string]: Parameter };
  body?: Body & { description: string };
  success: {
    status: number;
    description: string;
    body?: Body;
    /** The media type of the same pages as a stream of events. */
    stream?: "text/event-stream";
  };
  /**
   * The failures of this operation alone, each with the message that it returns. `failures.ts` adds those of every operation, body,
   * `Idempotency-Key` and precondition. Another message for one of these may be here too.
   */
  errors?: { [code in ErrorCode]?: string };
  /** The thing that needs a new `Idempotency-Key`, for example `animal`, if the operation takes a key. */
  idempotencyKey?: string;
  /** Its tool at `/mcp`, or that agents have none: another tool does it, or a secret would come into a conversation. */
  agents: Agents | "hidden";
}

/** What agents read of an operation. The arguments of its tool come from its parameters and its body. */
export interface Agents {
  /** What it does, in at most 300 characters and without words of HTTP. */
  description: string;
  /** Arguments that the tool lacks. */
  without?: readonly string[];
  /** What arguments mean, where the name does not tell. */
  words?: { readonly [argument: string]: string };
  /** Values that the tool lacks, by argument, each with the way to what it would do. */
  refused?: { readonly [argument: string]: { readonly [value: string]: string } };
}

export interface Body {
  /** The name of its schema. */
  schema: string;
  example: unknown;
}

export interface Parameter {
  description: string;
  /** The stability of the parameter, if it differs from that of its operation. */
  stability?: Stability;
  schema?: SchemaObject | ReferenceObject;
  example?: unknown;
}

/** The format says the bounds. A tool that reads JSON into floats would round them to numbers beyond int64. */
export const INT64: SchemaObject = { type: "integer", format: "int64" };
/** What the schema of an int64 in a body does not hold. */
export const ALL_DIGITS =
  "Write all its digits: from 10^14 on, a fraction or an exponent is refused, because a float may have rounded it.";

/**
 * Matches a text with a character that is not white space, for engines that search, that match from the start (Python) and that match
 * the whole text (Java). Some engines do not know `\u0085`, so a name of U+0085 alone matches, which the service refuses.
 */
export const NOT_BLANK = "^[\\s\\S]*\\S[\\s\\S]*$";
/** Any text, line breaks included. */
export const ANY_TEXT = "^[\\s\\S]*$";

export const NAME: SchemaObject = {
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  pattern: NOT_BLANK,
};

export const CUSTOMER_TEXT: SchemaObject = { minLength: 1, maxLength: 255, pattern: CUSTOMER.source };

export const int32 = (minimum: number, maximum: number): SchemaObject => ({
  type: "integer",
  format: "int32",
  minimum,
  maximum,
});

/** A time in UTC, as the service writes it. */
export const time = (description: string, example = "2026-11-22T08:30:00.000Z"): SchemaObject => ({
  type: "string",
  format: "date-time",
  maxLength: example.length,
  description,
  examples: [example],
});

export const values = (all: readonly string[], description: string): SchemaObject => ({
  type: "string",
  enum: [...all],
  description,
  examples: all.slice(0, 1),
});

/** An object with the fields of a zod object, or of a shape. */
export const fieldsOf = (
  description: string,
  parts: Pick<SchemaObject, "properties" | "required">,
  example: object,
): SchemaObject => ({ type: "object", description, ...parts, examples: [example] });

/** An object with these properties, of which it has to have some: all that the example has, unless given. */
export const object = (
  description: string,
  example: object,
  properties: NonNullable<SchemaObject["properties"]>,
  required = Object.keys(example),
): SchemaObject => fieldsOf(description, { properties, required }, example);

export const limitParameter = (items: string, standard = DEFAULT_LIMIT): Parameter => ({
  description: `Maximum number of ${items} to return. Defaults to ${standard}.`,
  schema: int32(1, MAX_LIMIT),
  example: standard,
});

export const pageParameters = (items: string): { [name: string]: Parameter } => ({
  limit: limitParameter(items),
  cursor: {
    description: "Where the page starts. Opaque: take it from the `Link` header of the previous page.",
    schema: { type: "string", maxLength: 16, pattern: CURSOR.source },
    example: "AAAAAAAAAAKLLL5F",
  },
  sort: {
    description: "The order: `id`, which is the default, or `-id` for the newest first. A cursor belongs to one order.",
    stability: "beta",
    schema: { type: "string", enum: [...SORTS] },
    example: "id",
  },
  include: {
    description: "With `version`, each item also has its `version`, the number in its `ETag`.",
    stability: "beta",
    // An enum of one: importers make up a text for a const.
    schema: { type: "string", enum: ["version"] },
    example: "version",
  },
});

export const VERSION: SchemaObject = { ...int32(1, 2 ** 31 - 1), examples: [1] };

/** The items of a list: the resource, and what `include` adds. */
export const listed = ({ properties = {}, ...schema }: SchemaObject): SchemaObject => ({
  ...schema,
  properties: {
    ...properties,
    version: { ...VERSION, description: "The number in the `ETag`. Only with `include=version`." },
  },
});

export const versioned = ({ properties = {}, required = [], ...schema }: SchemaObject): SchemaObject => ({
  ...schema,
  properties: { ...properties, version: { ...VERSION, description: "The number in the `ETag`." } },
  required: [...required, "version"],
});
export const CURSOR_OF_EVENTS = {
  pattern: EVENT_CURSOR.source,
  example: encodeEventCursor("00000000000000025d41402a"),
};

export const ref = (schema: string): ReferenceObject => ({ $ref: `#/components/schemas/${schema}` });

/** A value of an open list that this version does not define. */
export const UNKNOWN_VALUE: SchemaObject = { type: "string", pattern: "^[a-z0-9_.]+$", maxLength: 100 };

/**
 * A value of a list that may grow (docs/versioning.md). The known values have their own schema, so that generators export a type
 * for them and accept other values here.
 */
export const openList = (schema: string): SchemaObject => ({ anyOf: [ref(schema), UNKNOWN_VALUE] });

/**
 * The properties of a zod object as JSON Schema. Zod gives the names, the required fields and the values of enumerations.
 * `rules` gives the rules that the zod schema checks in a function. Defaults are omitted, because generators treat a property
 * with a default as required. Descriptions state them instead.
 */
export function objectSchema<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodMiniObject<Shape>,
  rules: { [Field in keyof Shape]: SchemaObject | ReferenceObject },
): { properties: { [Field in keyof Shape]: SchemaObject | ReferenceObject }; required: string[] } {
  const { properties, required = [] } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const described = Object.entries(properties ?? {}).map(([name, property]) => {
    const { default: _default, ...keywords } = property as SchemaObject;
    const fieldRules = rules[name] ?? {};
    const other = Object.entries(keywords).find(
      ([keyword, value]) =>
        keyword in fieldRules && JSON.stringify(fieldRules[keyword as never]) !== JSON.stringify(value),
    );
    if (other !== undefined) throw new Error(`The description of ${name} has another ${other[0]} than its schema`);
    return [name, "$ref" in fieldRules ? fieldRules : { ...keywords, ...fieldRules }];
  });
  return { properties: Object.fromEntries(described), required };
}

/** Other words for a field, by its name. */
type Words<Fields> = { [Name in keyof Fields]?: string };

/**
 * The properties of a resource and of its bodies, from its shape.
 *
 * @param prose what the schema of each field does not hold, its description among it.
 * @param words of a creation and of a patch, where they differ.
 */
export function propertiesOf<Fields extends { [field: string]: Field }>(
  { fields, creation, patch }: Shape<Fields, Versioned>,
  prose: { [Name in keyof Fields]: SchemaObject | ReferenceObject },
  { created = {}, changed = {} }: { created?: Words<Fields>; changed?: Words<Fields> } = {},
) {
  const reworded = (words: Words<Fields>) =>
    Object.fromEntries(
      Object.entries(prose).map(([name, field]) => {
        const description = words[name];
        return [name, description === undefined ? field : { ...field, description }];
      }),
    );
  const id: SchemaObject = { ...INT64, description: "Unique identifier, assigned by the service.", examples: [1] };
  return {
    created: objectSchema(creation() as z.ZodMiniObject, reworded(created)),
    changed: objectSchema(patch() as z.ZodMiniObject, reworded(changed)),
    whole: {
      properties: { id, ...objectSchema(creation() as z.ZodMiniObject, reworded({})).properties },
      required: ["id", ...Object.keys(fields).filter((name) => !fields[name]?.mayBeAbsent)],
    },
  };
}

/** The content of a request or a response, in any of the media types. */
export const jsonContent = (
  { schema, example }: Body,
  mediaTypes: readonly string[] = ["application/json"],
): ContentObject =>
  Object.fromEntries(
    mediaTypes.map((mediaType) => [mediaType, { schema: ref(schema), examples: { example: { value: example } } }]),
  );

/** A success with a body. */
export const ok = (description: string, schema: string, example: unknown): Operation["success"] => ({
  status: 200,
  description,
  body: { schema, example },
});

/** The success of a creation. */
export const added = (...success: Parameters<typeof ok>): Operation["success"] => ({ ...ok(...success), status: 201 });

export const arrayOf = (
  schema: string,
  description: string,
  maxItems: number,
  example: unknown,
  minItems?: number,
): SchemaObject => ({
  type: "array",
  description,
  items: ref(schema),
  ...(minItems === undefined ? {} : { minItems }),
  maxItems,
  examples: [example],
});

export function parameterObject(
  name: string,
  place: ParameterObject["in"],
  required: boolean,
  { description, stability, schema, example }: Parameter,
): ParameterObject {
  return {
    name,
    in: place,
    required,
    description,
    ...(stability === undefined ? {} : { "x-stability": stability }),
    ...(schema === undefined ? {} : { schema }),
    ...(example === undefined ? {} : { example }),
  };
}
