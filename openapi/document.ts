// The OpenAPI 3.1 document of the interface. It lists the operations: the test batteries, the tables in docs/ and
// the types of generated clients derive from it.
import type { OpenAPIObject, ParameterObject, PathsObject, SchemaObject } from "openapi3-ts/oas31";
import packageJson from "../package.json" with { type: "json" };
import { SCOPES } from "../src/auth/scopes.ts";
import { WHEN } from "./errors.ts";
import { ERRORS } from "../src/errors.ts";
import { BOOKMARK } from "../src/http/open-session.ts";
import { MAX_CACHE_CONTROL_LENGTH, MAX_READ_AGE } from "../src/http/max-age.ts";
import { MAX_MESSAGE_LENGTH } from "../src/http/validation.ts";
import { ENTITY_TAGS, MAX_TAGS_LENGTH } from "../src/http/precondition.ts";
import { categories } from "./resources/categories.ts";
import { events } from "./resources/events.ts";
import { key } from "./resources/key.ts";
import { orders } from "./resources/orders.ts";
import { pets } from "./resources/pets.ts";
import { deliveries, webhooks } from "./resources/webhooks.ts";
import { NOT_BLANK, openList, type Resource } from "./describe.ts";
import { headers, ownHeaders } from "./headers.ts";
import { links, linksOf } from "./links.ts";
import { mountedAs, operationObject, undescribed } from "./operation.ts";
import { GUIDES } from "./sources.ts";

/** One line per resource. */
export const RESOURCES: Resource[] = [pets, categories, orders, events, webhooks, key];

const ERROR_CODE_SCHEMA: SchemaObject = {
  type: "string",
  description: "The error codes of this version.",
  enum: Object.keys(ERRORS),
  examples: ["not_found"],
};

const ERROR_SCHEMA: SchemaObject = {
  type: "object",
  description: "The body of every failure.",
  properties: {
    code: {
      description:
        "Machine-readable. `/docs/errors#` with the code explains it. The list may grow: accept codes that you do not know.",
      ...openList("ErrorCode"),
    },
    message: {
      type: "string",
      description: "For people. The text may change.",
      maxLength: MAX_MESSAGE_LENGTH,
      pattern: NOT_BLANK,
    },
    status: { type: "integer", format: "int32", description: "The HTTP status code.", minimum: 400, maximum: 599 },
  },
  required: ["code", "message", "status"],
  examples: [{ code: "not_found", message: WHEN.not_found, status: 404 }],
};

/** Every database has it: the one before its first change. */
const EARLIEST_BOOKMARK = "00000000-00000000-00000000-00000000000000000000000000000000";

const BOOKMARK_PARAMETER: ParameterObject = {
  name: "x-d1-bookmark",
  in: "header",
  required: false,
  description: "The `x-d1-bookmark` of an earlier response. The request sees at least what that response saw or wrote.",
  example: EARLIEST_BOOKMARK,
  schema: { type: "string", pattern: BOOKMARK.source, maxLength: 59 },
};

/**
 * A precondition (RFC 9110, section 13.1).
 *
 * @param example one that every resource meets: importers send it.
 */
const precondition = (name: string, description: string, example: string): ParameterObject => ({
  name,
  in: "header",
  required: false,
  description,
  example,
  schema: { type: "string", maxLength: MAX_TAGS_LENGTH, pattern: `^[*]$|${ENTITY_TAGS.source}` },
});

const PARAMETERS = {
  bookmark: BOOKMARK_PARAMETER,
  ifMatch: precondition(
    "If-Match",
    'The `ETag` that the resource has to have, for example `"1"`, or a list of them. `*` means any version. A read ignores a malformed value.',
    "*",
  ),
  ifNoneMatch: precondition(
    "If-None-Match",
    'The `ETag` that the resource must not have, for example `"1"`, or a list of them. `*` means any version. A read ignores a malformed value.',
    '"0"',
  ),
  cacheControl: {
    name: "Cache-Control",
    in: "header",
    required: false,
    description: `\`max-age=N\`: the response may be up to N seconds old, ${MAX_READ_AGE} at most, and come from the memory of the service with an \`Age\`. \`no-cache\` and \`no-store\`: ask the database. Other directives are ignored.`,
    example: "max-age=10",
    schema: { type: "string", maxLength: MAX_CACHE_CONTROL_LENGTH, pattern: "^[\\t -~]*$" },
  },
} satisfies { [name: string]: ParameterObject };

const paths: PathsObject = {};
for (const resource of RESOURCES) {
  for (const [operationId, { errors, ...described }] of Object.entries(resource.operations)) {
    const { method, path } = mountedAs(operationId);
    const missing = path.includes("{") && resource.missing !== undefined ? { not_found: resource.missing } : {};
    const operation = { ...described, errors: { ...missing, ...errors } };
    const next = linksOf(operationId, path, operation.success.body?.schema, resource);
    const object = operationObject(operationId, operation, next);
    paths[path] = { ...paths[path], [method]: { ...object, tags: [resource.tag.name] } };
  }
}
for (const route of undescribed(paths))
  throw new Error(`${route} is served, but openapi/resources/ does not describe it. Add its operation id there.`);

// A separate constant, because the types of openapi3-ts lack `summary`.
const INFO = {
  title: "Pet Store Service",
  summary: "Animals, their categories and orders for them.",
  description: `This API runs a pet store: list, add, change and delete animals, name their categories, and sell them with orders. An animal is never sold twice, and a retry with the same Idempotency-Key creates nothing.\n\nGuides: ${Object.entries(
    GUIDES,
  )
    .map(([name, title]) => `[${title}](/docs/${name})`)
    .join(", ")}.`,
  version: packageJson.version,
  license: { name: "MIT", identifier: "MIT" },
  contact: { name: "The Pet Store Service authors" },
};

export const document: OpenAPIObject = {
  openapi: "3.1.0",
  info: INFO,
  servers: [
    {
      url: "/v1",
      description: "The deployment that serves this document: local, staging or production",
      "x-internal": false,
    },
  ],
  tags: RESOURCES.map(({ tag }) => tag),
  paths,
  webhooks: deliveries,
  components: {
    securitySchemes: {
      apiKey: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "petstore_<environment>_<36 characters>",
        description: `An API key. Its scopes: ${SCOPES.join(", ")}. [How to get one](/docs/keys). Or a customer token, which \`createToken\` returns, for the operations with an \`x-customer-scope\`: the scope that the token needs, or \`none\`.`,
      },
    },
    schemas: {
      ...Object.assign({}, ...RESOURCES.map(({ schemas }) => schemas)),
      ErrorCode: ERROR_CODE_SCHEMA,
      Error: ERROR_SCHEMA,
    },
    headers: { ...headers, ...ownHeaders },
    parameters: PARAMETERS,
    links,
  },
};
