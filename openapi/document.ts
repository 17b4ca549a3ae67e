// The OpenAPI 3.1 document of the interface. It is the register of the operations: the batteries of tests, the tables in docs/ and
// the types of generated clients come from it.
import type {
  OpenAPIObject,
  OperationObject,
  ParameterObject,
  PathsObject,
  ReferenceObject,
  SchemaObject,
} from "openapi3-ts/oas31";
import * as z from "zod/mini";
import packageJson from "../package.json" with { type: "json" };
import { SCOPES, type Scope } from "../src/auth/scopes.ts";
import { ERRORS } from "../src/errors.ts";
import { MAX_BODY_BYTES } from "../src/http/body.ts";
import type { Deprecation } from "../src/http/deprecation.ts";
import { BOOKMARK } from "../src/http/session.ts";
import { pets } from "../src/pets/openapi.ts";
import { v1 } from "../src/v1.ts";
import { INT64, jsonContent, type Operation, parameterObject, type Resource } from "./describe.ts";
import { failures } from "./failures.ts";
import { announcement, headers, headersOf, locationHeader } from "./headers.ts";

/** One line a resource. */
const RESOURCES: Resource[] = [pets];

const ERROR_SCHEMA: SchemaObject = {
  type: "object",
  description: "Every failure, of every kind.",
  properties: {
    code: { type: "string", description: "Machine-readable.", enum: Object.keys(ERRORS) },
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

/** What the handlers of an operation carry for the document. */
interface Facts {
  scope?: Scope;
  deprecation?: Deprecation;
  target?: "query" | "json";
  schema?: () => z.ZodMiniObject;
}

const paths: PathsObject = {};
for (const { tag, operations } of RESOURCES) {
  for (const [operationId, operation] of Object.entries(operations)) {
    const { method, path } = routeOf(operationId, operation);
    paths[path] = { ...paths[path], [method]: operationObject(operationId, tag.name, path, operation) };
  }
}

function routeOf(operationId: string, { handlers }: Operation): { method: string; path: string } {
  const route = v1.routes.find(({ handler }) => handler === handlers.at(-1));
  if (route === undefined) throw new Error(`No route leads to ${operationId}`);
  return { method: route.method.toLowerCase(), path: route.path.replace(/:(\w+)/g, "{$1}") };
}

function operationObject(operationId: string, tag: string, path: string, operation: Operation): OperationObject {
  const { stability, summary, description, body, success } = operation;
  const facts = operation.handlers as readonly Facts[];
  const scope = facts.find((handler) => handler.scope !== undefined)?.scope;
  if (scope === undefined) throw new Error(`${operationId} has no guard`);
  const deprecation = facts.find((handler) => handler.deprecation !== undefined)?.deprecation;
  const announced = deprecation === undefined ? {} : announcement(deprecation);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(deprecation === undefined
      ? {}
      : { deprecated: true, "x-sunset": deprecation.sunset.toISOString().slice(0, "2030-12-05".length) }),
    security: [{ apiKey: [] }],
    "x-required-scope": scope,
    "x-stability": stability,
    parameters: [...parametersOf(path, operation, facts), { $ref: "#/components/parameters/bookmark" }],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: `${body.description}, in at most ${MAX_BODY_BYTES} bytes.`,
            content: jsonContent(body),
          },
        }),
    responses: {
      [success.status]: {
        description: success.description,
        headers: {
          ...headersOf(["x-d1-bookmark", ...(success.headers ?? [])]),
          ...(success.status === 201 ? locationHeader(path) : {}),
          ...announced,
        },
        content: {
          "application/json": { schema: ref(success.schema), examples: examples("example", success.example) },
        },
      },
      ...failures(operation, announced),
    },
  };
}

function parametersOf(
  path: string,
  operation: Operation,
  facts: readonly Facts[],
): (ParameterObject | ReferenceObject)[] {
  const { parameters = {}, idempotencyKey } = operation;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
    parameterObject(name, "path", true, parameters[name] ?? { description: "", schema: INT64 }),
  );
  const schema = facts.find(({ target }) => target === "query")?.schema?.();
  const inQuery = Object.keys(schema?.shape ?? {}).map((name) => {
    const parameter = parameters[name];
    if (parameter === undefined) throw new Error(`The parameter ${name} of ${path} has no description`);
    return parameterObject(name, "query", false, parameter);
  });
  const inHeader =
    idempotencyKey === undefined
      ? []
      : [
          parameterObject("Idempotency-Key", "header", false, {
            description: `1 to 255 visible ASCII characters, new for each ${idempotencyKey}; a UUID, say. In quotes, as a String of structured fields (RFC 9651), the key means the same as without.`,
            schema: { type: "string", maxLength: 255, pattern: "^[!#-~][!-~]{0,254}$" },
          }),
        ];
  return [...inPath, ...inQuery, ...inHeader];
}

// Apart, because the types of openapi3-ts lack `summary`.
const INFO = {
  title: "Pet Store Service",
  summary: "List animals, add one, fetch one.",
  description:
    "Guides: [errors](/docs/errors), [paging](/docs/guarantees#order-and-pages), [idempotency](/docs/guarantees#created-exactly-once), [consistency](/docs/guarantees#consistency), [API keys](/docs/keys), [versioning policy](/docs/versioning).",
  version: packageJson.version,
  license: { name: "MIT", identifier: "MIT" },
  contact: { name: "The Pet Store Service authors" },
};

export const document: OpenAPIObject = {
  openapi: "3.1.0",
  info: INFO,
  servers: [{ url: "/v1", description: "The deployment that this document came from" }],
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
    schemas: { ...Object.assign({}, ...RESOURCES.map(({ schemas }) => schemas)), Error: ERROR_SCHEMA },
    headers,
    parameters: { bookmark: BOOKMARK_PARAMETER },
  },
};
