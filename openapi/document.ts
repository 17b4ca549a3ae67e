// The OpenAPI 3.1 document of the interface. It is the register of the operations: the batteries of tests, the tables in docs/ and
// the types of generated clients come from it.
import type { OpenAPIObject, ParameterObject, PathsObject, SchemaObject } from "openapi3-ts/oas31";
import packageJson from "../package.json" with { type: "json" };
import { SCOPES } from "../src/auth/scopes.ts";
import { ERRORS } from "../src/errors.ts";
import { BOOKMARK } from "../src/http/session.ts";
import { ENTITY_TAGS, MAX_IF_MATCH_LENGTH } from "../src/http/precondition.ts";
import { categories } from "../src/categories/openapi.ts";
import { orders } from "../src/orders/openapi.ts";
import { pets } from "../src/pets/openapi.ts";
import { openList, type Resource } from "./describe.ts";
import { headers, ownHeaders } from "./headers.ts";
import { links, linksOf } from "./links.ts";
import { operationObject, routeOf } from "./operation.ts";

/** One line a resource. */
const RESOURCES: Resource[] = [pets, categories, orders];

const ERROR_CODE_SCHEMA: SchemaObject = {
  type: "string",
  description: "The error codes of this version.",
  enum: Object.keys(ERRORS),
  examples: ["not_found"],
};

const ERROR_SCHEMA: SchemaObject = {
  type: "object",
  description: "Every failure, of every kind.",
  properties: {
    code: {
      description:
        "Machine-readable. `/docs/errors#` and the code lead to its explanation. More codes may come: accept ones that you do not know.",
      ...openList("ErrorCode"),
    },
    message: { type: "string", description: "For people. Its words may change.", maxLength: 2_000, pattern: "\\S" },
    status: { type: "integer", format: "int32", description: "The HTTP status code.", minimum: 400, maximum: 599 },
  },
  required: ["code", "message", "status"],
  examples: [{ code: "not_found", message: ERRORS.not_found.when, status: 404 }],
};

const BOOKMARK_PARAMETER: ParameterObject = {
  name: "x-d1-bookmark",
  in: "header",
  required: false,
  description: "The `x-d1-bookmark` of an earlier response: read at least what that saw or wrote.",
  schema: { type: "string", pattern: BOOKMARK.source, maxLength: 59 },
};

const IF_MATCH_PARAMETER: ParameterObject = {
  name: "If-Match",
  in: "header",
  required: false,
  description:
    "The `ETag` of the version that the change applies to, or a list of them (RFC 9110, section 13.1.1). `*` and no header stand for any version.",
  schema: { type: "string", maxLength: MAX_IF_MATCH_LENGTH, pattern: `^[*]$|${ENTITY_TAGS.source}` },
};

const paths: PathsObject = {};
for (const resource of RESOURCES) {
  for (const [operationId, operation] of Object.entries(resource.operations)) {
    const route = routeOf(operationId, operation);
    const { method, path } = route;
    const next = linksOf(operationId, path, operation.success.body?.schema, resource);
    const described = operationObject(operationId, route, operation, next);
    paths[path] = { ...paths[path], [method]: { ...described, tags: [resource.tag.name] } };
  }
}

// Apart, because the types of openapi3-ts lack `summary`.
const INFO = {
  title: "Pet Store Service",
  summary: "Animals, their categories and orders for them.",
  description:
    "This API runs a pet store: list, add, change and delete animals, name their categories, and sell them with orders. An animal is never sold twice, and a retry with the same Idempotency-Key creates nothing.\n\nGuides: [errors](/docs/errors), [paging](/docs/guarantees#order-and-pages), [idempotency](/docs/guarantees#created-exactly-once), [consistency](/docs/guarantees#consistency), [API keys](/docs/keys), [versioning policy](/docs/versioning).",
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
      description: "The deployment that this document came from: local, staging or production",
      "x-internal": false,
    },
  ],
  tags: RESOURCES.map(({ tag }) => tag),
  paths,
  components: {
    securitySchemes: {
      apiKey: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "petstore_<environment>_<36 characters>",
        description: `An API key. Its scopes: ${SCOPES.join(", ")}. [How to get one](/docs/keys).`,
      },
    },
    schemas: {
      ...Object.assign({}, ...RESOURCES.map(({ schemas }) => schemas)),
      ErrorCode: ERROR_CODE_SCHEMA,
      Error: ERROR_SCHEMA,
    },
    headers: { ...headers, ...ownHeaders },
    parameters: { bookmark: BOOKMARK_PARAMETER, ifMatch: IF_MATCH_PARAMETER },
    links,
  },
};
