import * as z from "zod/mini";
import packageJson from "../package.json" with { type: "json" };
import { SCOPES, type Scope } from "../src/auth/key-record.ts";
import { MAX_NAME_CHARACTERS } from "../src/db/schema.ts";
import { ERROR_STATUS, type ErrorCode } from "../src/errors.ts";
import { MAX_BODY_BYTES } from "../src/http/body.ts";
import { BOOKMARK } from "../src/http/bookmark.ts";
import { MAX_LIMIT, listPetsQuery, newPet, NOT_WHITE_SPACE } from "../src/pets/schemas.ts";

// The OpenAPI 3.1 document of the interface. Which fields and parameters there are, which of them are required, their defaults and
// their enumerations come from the zod schemas that validate requests; what zod cannot say of a rule of ours is said here,
// from the same constants.

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };

/** An integer that JSON.stringify writes to the last digit; a number literal would be rounded. */
const exact = (integer: bigint) => (JSON as unknown as { rawJSON(text: string): Json }).rawJSON(String(integer));

const INT64: JsonObject = {
  type: "integer",
  format: "int64",
  minimum: exact(-(2n ** 63n)),
  maximum: exact(2n ** 63n - 1n),
};

/** The rules that zod leaves to a function, by field. */
const RULES: { [field: string]: JsonObject } = {
  name: {
    description: "The animal's name, kept byte for byte. Characters are Unicode code points.",
    minLength: 1,
    maxLength: MAX_NAME_CHARACTERS,
    pattern: NOT_WHITE_SPACE.source,
    examples: ["Ada the Alpaca"],
  },
  categoryId: { ...INT64, description: "Identifier of the category that the animal belongs to.", examples: [7] },
  status: { description: "Availability status.", examples: ["available"] },
  cursor: {
    description: "Where the page starts. Opaque: take it from the `Link` of the page before, never make one.",
    type: "string",
    maxLength: 200,
    pattern: "^[0-9A-Za-z_-]+$",
    examples: ["AAAAAAAAAAKLLL5F"],
  },
  limit: {
    description: "Maximum number of animals returned; 20 unless given.",
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: MAX_LIMIT,
    examples: [20],
  },
};

interface ObjectSchema {
  properties: { [name: string]: JsonObject };
  required?: string[];
}

/**
 * A zod object as JSON Schema, with our rules added. Without defaults: generators take a property that has one for required. The
 * description of the property says them.
 */
function objectSchema(schema: z.ZodMiniType): ObjectSchema {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const withRules = Object.entries(properties).map(([name, property]) => {
    const { default: _default, ...keywords } = property as JsonObject;
    return [name, { ...keywords, ...RULES[name] }];
  });
  return { properties: Object.fromEntries(withRules), required };
}

const petFields = objectSchema(newPet);
const listFields = objectSchema(listPetsQuery).properties;

const petStatus = petFields.properties["status"] ?? {};
const ANIMAL_EXAMPLE = { id: 1, name: "Ada the Alpaca", categoryId: 7, status: "available" };

const schemas: JsonObject = {
  NewPet: {
    type: "object",
    description: "An animal to add. Other fields, `id` among them, are ignored.",
    properties: refer(petFields.properties, "Availability status. When it is omitted, the animal is `available`."),
    required: petFields.required ?? [],
    examples: [{ name: "Ada the Alpaca", categoryId: 7, status: "available" }],
  },
  Animal: {
    type: "object",
    description: "An animal: what was sent to create it, and its identifier.",
    properties: {
      id: { ...INT64, description: "Unique identifier, assigned by the service.", examples: [1] },
      ...refer(petFields.properties),
    },
    required: ["id", ...Object.keys(petFields.properties)],
    examples: [ANIMAL_EXAMPLE],
  },
  Pets: {
    type: "array",
    description: "Animals in ascending order of id.",
    items: { $ref: "#/components/schemas/Animal" },
    maxItems: MAX_LIMIT,
    examples: [[ANIMAL_EXAMPLE]],
  },
  PetStatus: petStatus,
  Error: {
    type: "object",
    description: "Every failure, of every kind.",
    properties: {
      code: { type: "string", description: "Machine-readable.", enum: Object.keys(ERROR_STATUS) },
      message: { type: "string", description: "For people. Its words may change.", maxLength: 2_000, pattern: "\\S" },
      status: { type: "integer", format: "int32", description: "The HTTP status code.", minimum: 400, maximum: 599 },
    },
    required: ["code", "message", "status"],
    examples: [{ code: "not_found", message: "There is no animal with this id.", status: 404 }],
  },
};

/** The properties of an animal, with the status by its name in the interface. */
function refer(properties: { [name: string]: JsonObject }, description?: string): JsonObject {
  const reference: JsonObject = { $ref: "#/components/schemas/PetStatus" };
  return { ...properties, status: description === undefined ? reference : { ...reference, description } };
}

const headers = {
  "X-Request-Id": header("Names this request, also in the service's log.", {
    type: "string",
    format: "uuid",
    maxLength: 36,
  }),
  "x-d1-bookmark": header(
    "Where the database stood. Echo it in a later request to see at least what this answer saw or wrote.",
    { type: "string", pattern: BOOKMARK.source, maxLength: 59 },
    false,
  ),
  "Access-Control-Allow-Origin": header("Any origin may call the service; there are no cookies.", {
    type: "string",
    const: "*",
  }),
  "Cache-Control": header("Answers behind a key are not to be stored.", { type: "string", const: "private, no-store" }),
  "WWW-Authenticate": header("What to authenticate with, and what was wrong (RFC 6750).", {
    type: "string",
    pattern: "^Bearer realm=",
    maxLength: 200,
  }),
  "Retry-After": header("Seconds to wait.", { type: "integer", format: "int32", minimum: 1, maximum: 60 }),
  Location: header("The path of the new animal.", {
    type: "string",
    pattern: "^[/]v1[/]pets[/][0-9]+$",
    maxLength: 40,
  }),
  "Idempotency-Replayed": header(
    "The animal was created by an earlier request with this Idempotency-Key.",
    { type: "string", const: "true" },
    false,
  ),
  Deprecation: header("Since when the operation is deprecated (RFC 9745).", { type: "string", const: "@1764892800" }),
  Sunset: header("When the operation will be removed (RFC 8594).", {
    type: "string",
    const: "Thu, 05 Dec 2030 00:00:00 GMT",
  }),
  DeprecationLink: header("What replaces the operation, and what explains it.", {
    type: "string",
    pattern: 'rel="successor-version"',
    maxLength: 200,
  }),
  NextLink: header(
    'The next page: `<URL>; rel="next"`, with an opaque `cursor` in it. Follow it as it is; there is none on the last page.',
    { type: "string", pattern: '^<[^>]+>; rel="next"$', maxLength: 2_000 },
    false,
  ),
} satisfies { [name: string]: JsonObject };

function header(description: string, schema: JsonObject, required = true): JsonObject {
  return { description, required, schema };
}

type HeaderName = keyof typeof headers;

/** The headers of a response: those of every answer, and these. Two are a `Link` under a name of their own. */
function headersOf(names: HeaderName[]): JsonObject {
  const all: HeaderName[] = ["X-Request-Id", "Access-Control-Allow-Origin", "Cache-Control", ...names];
  const sentAs = (name: HeaderName) => (name.endsWith("Link") ? "Link" : name);
  return Object.fromEntries(all.map((name) => [sentAs(name), { $ref: `#/components/headers/${name}` }]));
}

type OperationFailure = Exclude<ErrorCode, "method_not_allowed">;

/** A wrong method is no operation, so 405 belongs to none. */
const FAILURES: { [code in OperationFailure]: { description: string; message: string; headers?: HeaderName[] } } = {
  invalid_request: {
    description: "The body, the query or a header breaks a rule. The message names every offending field and its rule.",
    message: "name is required: a string of 1 to 255 well-formed characters, not only white space.",
  },
  unauthorized: {
    description: "No API key, or one that is not valid.",
    message: "The API key is not valid.",
    headers: ["WWW-Authenticate"],
  },
  insufficient_scope: {
    description: "The API key lacks the scope that the operation needs.",
    message: "This API key lacks the scope pets:write.",
    headers: ["WWW-Authenticate"],
  },
  not_found: {
    description: "No animal has this id.",
    message: "There is no animal with this id.",
    headers: ["x-d1-bookmark"],
  },
  request_timeout: {
    description: "The body was not complete in time.",
    message: "The request body was not complete within 10 seconds.",
  },
  payload_too_large: {
    description: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
    message: `The request body is larger than ${MAX_BODY_BYTES} bytes.`,
  },
  unsupported_media_type: {
    description: "The body is not application/json.",
    message: "The request body has to be application/json.",
  },
  idempotency_key_reused: {
    description: "The Idempotency-Key came before, with another request.",
    message: "This Idempotency-Key came before, with another request.",
    headers: ["x-d1-bookmark"],
  },
  rate_limited: {
    description: "Too many requests with this API key.",
    message: "Too many requests with this API key. Slow down.",
    headers: ["Retry-After"],
  },
  internal_error: {
    description: "A bug of ours.",
    message: "Something went wrong on our side.",
    headers: ["x-d1-bookmark"],
  },
  service_unavailable: {
    description: "Storage cannot answer.",
    message: "The service cannot answer right now. Try again later.",
    headers: ["Retry-After"],
  },
};

/** The failures that every operation behind a key can answer with. */
const COMMON: OperationFailure[] = [
  "invalid_request",
  "unauthorized",
  "insufficient_scope",
  "rate_limited",
  "internal_error",
  "service_unavailable",
];

function failures(codes: OperationFailure[], more: HeaderName[]): JsonObject {
  return Object.fromEntries(
    codes.map((code) => {
      const { description, message, headers: names = [] } = FAILURES[code];
      const status = ERROR_STATUS[code];
      return [
        String(status),
        {
          description: `\`${code}\`: ${description}`,
          headers: headersOf([...names, ...more]),
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/Error" },
              examples: { [code]: { value: { code, message, status } } },
            },
          },
        },
      ];
    }),
  );
}

function success(description: string, schema: string, example: Json, names: HeaderName[]): JsonObject {
  return {
    description,
    headers: headersOf(["x-d1-bookmark", ...names]),
    content: {
      "application/json": {
        schema: { $ref: `#/components/schemas/${schema}` },
        examples: { ada: { value: example } },
      },
    },
  };
}

const security = (scope: Scope): JsonObject => ({
  security: [{ apiKey: [] }],
  "x-required-scope": scope,
  "x-stability": "stable",
});
const bookmark: JsonObject = { $ref: "#/components/parameters/bookmark" };
const DEPRECATED: HeaderName[] = ["Deprecation", "Sunset", "DeprecationLink"];

const listPets: JsonObject = {
  operationId: "listPets",
  tags: ["Pets"],
  summary: "List animals",
  description:
    "Animals in ascending order of id. When there are more, the `Link` header holds the address of the next page, which keeps `limit` and `status`. Follow it as it is, or send its `cursor` with the same `limit` and `status`.",
  ...security("pets:read"),
  parameters: [
    ...["limit", "status", "cursor"].map((name) => {
      const { description, examples, ...schema } = listFields[name] ?? {};
      const value = Array.isArray(examples) ? examples[0] : undefined;
      return {
        name,
        in: "query",
        required: false,
        description: description ?? "",
        schema: name === "status" ? { $ref: "#/components/schemas/PetStatus" } : schema,
        // A tool that tries the examples has no page to continue.
        ...(name === "cursor" || value === undefined ? {} : { example: value }),
      };
    }),
    bookmark,
  ],
  responses: { 200: success("Animals.", "Pets", [ANIMAL_EXAMPLE], ["NextLink"]), ...failures(COMMON, []) },
};

const createPet: JsonObject = {
  operationId: "createPet",
  tags: ["Pets"],
  summary: "Add an animal",
  description: "With an `Idempotency-Key`, the animal is created exactly once, however often the request is repeated.",
  ...security("pets:write"),
  parameters: [
    {
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description:
        "1 to 255 visible ASCII characters, new for each animal; a UUID, say. In quotes, as a String of structured fields (RFC 9651), the key means the same as without.",
      schema: {
        type: "string",
        maxLength: 255,
        pattern: "^[!#-~][!-~]{0,254}$",
      },
    },
    bookmark,
  ],
  requestBody: {
    required: true,
    description: `An animal, in at most ${MAX_BODY_BYTES} bytes.`,
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/NewPet" },
        examples: { ada: { value: { name: "Ada the Alpaca", categoryId: 7 } } },
      },
    },
  },
  responses: {
    201: success("The animal was created.", "Animal", ANIMAL_EXAMPLE, ["Location", "Idempotency-Replayed"]),
    ...failures(
      [...COMMON, "request_timeout", "payload_too_large", "unsupported_media_type", "idempotency_key_reused"],
      [],
    ),
  },
};

const getPet: JsonObject = {
  operationId: "getPet",
  tags: ["Pets"],
  summary: "Fetch an animal",
  description: "Deprecated, to be removed on 5 December 2030. Use `listPets` with the `status` filter instead.",
  deprecated: true,
  "x-sunset": "2030-12-05",
  ...security("pets:read"),
  parameters: [
    { name: "petId", in: "path", required: true, description: "Identifier of the animal.", schema: INT64, example: 1 },
    bookmark,
  ],
  responses: {
    200: success("The animal.", "Animal", ANIMAL_EXAMPLE, DEPRECATED),
    ...failures([...COMMON, "not_found"], DEPRECATED),
  },
};

export const document: JsonObject = {
  openapi: "3.1.0",
  info: {
    title: "Pet Store Service",
    summary: "List animals, add one, fetch one.",
    description:
      "Guides: [errors](/docs/errors), [paging](/docs/guarantees#order-and-pages), [idempotency](/docs/guarantees#created-exactly-once), [consistency](/docs/guarantees#consistency), [API keys](/docs/keys), [versioning policy](/docs/versioning).",
    version: packageJson.version,
    license: { name: "MIT", identifier: "MIT" },
    contact: { name: "The Pet Store Service authors" },
  },
  servers: [{ url: "/v1", description: "The deployment that this document came from" }],
  tags: [{ name: "Pets", description: "The animals of the store." }],
  paths: { "/pets": { get: listPets, post: createPet }, "/pets/{petId}": { get: getPet } },
  components: {
    securitySchemes: {
      apiKey: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "petstore_<environment>_<36 characters>",
        description: `An API key. Its scopes: ${SCOPES.join(", ")}. [How to get one](/docs/keys).`,
      },
    },
    schemas,
    headers,
    parameters: {
      bookmark: {
        name: "x-d1-bookmark",
        in: "header",
        required: false,
        description: "The `x-d1-bookmark` of an earlier answer: read at least what that saw or wrote.",
        schema: { type: "string", pattern: BOOKMARK.source, maxLength: 59 },
      },
    },
  },
};
