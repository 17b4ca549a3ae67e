// Builds an operation of the document from its description and the facts that its handlers carry.
import type {
  ContentObject,
  LinksObject,
  OperationObject,
  ParameterObject,
  PathsObject,
  ReferenceObject,
  ResponseObject,
} from "openapi3-ts/oas31";
import type * as z from "zod/mini";
import type { Scope } from "../src/auth/scopes.ts";
import { MAX_BODY_BYTES } from "../src/http/body.ts";
import type { Deprecation } from "../src/http/deprecation.ts";
import type { OfCustomers } from "../src/http/guard.ts";
import { IDEMPOTENCY_KEY, MAX_HEADER_LENGTH } from "../src/idempotency/attempt.ts";
import type { Facts } from "../src/operation.ts";
import { v1 } from "../src/v1.ts";
import { jsonContent, type Operation, type Parameter, parameterObject } from "./describe.ts";
import { failures } from "./failures.ts";
import { announcement, headersOf, locationHeader, named } from "./headers.ts";

/** The facts that the handlers of an operation carry for the document. */
interface Carried extends Partial<Facts> {
  scope?: Scope;
  customers?: OfCustomers;
  deprecation?: Deprecation;
  target?: "query" | "json";
  schema?: () => z.ZodMiniObject;
  mediaTypes?: readonly string[];
}

const parameter = (name: string): ReferenceObject => ({ $ref: `#/components/parameters/${name}` });

/** Milliseconds. */
const YEAR = 365 * 86_400_000;

/** An operation where routes.ts mounts it. Its handlers determine its scope, deprecation, parameters and fields. */
export interface Mounted {
  /** In lower case. */
  method: string;
  path: string;
  handlers: readonly Carried[];
  /** Those of the last handler, which does what the operation is for. */
  facts: Facts;
}

/** By operation id. */
const mounted = new Map<string, Mounted>();
for (const routes of Object.values(Object.groupBy(v1.routes, ({ method, path }) => `${method} ${path}`))) {
  const handlers = (routes ?? []).map(({ handler }) => handler as Carried);
  const [{ method, path } = { method: "", path: "" }] = routes ?? [];
  const facts = handlers.at(-1) as Facts;
  const route = { method: method.toLowerCase(), path: path.replace(/:(\w+)/g, "{$1}"), handlers, facts };
  if (facts.operationId !== undefined) mounted.set(facts.operationId, route);
}

/** The routes of operations that are not among these paths of the document: `GET /pets/count`. */
export const undescribed = (paths: PathsObject): string[] =>
  v1.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => ({ method, path: path.replace(/:(\w+)/g, "{$1}") }))
    .filter(({ method, path }) => paths[path]?.[method.toLowerCase() as "get"] === undefined)
    .map(({ method, path }) => `${method} ${path}`);

export function mountedAs(operationId: string): Mounted {
  const found = mounted.get(operationId);
  if (found === undefined) throw new Error(`No route leads to ${operationId}. See src/<resource>/routes.ts.`);
  return found;
}

/**
 * An operation of the document, without its tag.
 *
 * @param links of its success.
 */
export function operationObject(operationId: string, operation: Operation, links: LinksObject): OperationObject {
  const route = mountedAs(operationId);
  const { method, path, handlers } = route;
  const { stability, summary, description, body, success, idempotencyKey } = operation;
  const { preconditions, cacheable, idempotent, withoutDatabase, headers = [] } = route.facts;
  if ((idempotencyKey === undefined) !== (idempotent === undefined))
    throw new Error(`The description and the handlers of ${operationId} differ about an Idempotency-Key`);
  const ignored = body === undefined ? [] : (["Ignored-Fields"] as const);
  const ages = cacheable ? (["Age"] as const) : [];
  const guard = handlers.find((handler) => "scope" in handler);
  if (guard === undefined) throw new Error(`${operationId} has no guard`);
  const mediaTypes = handlers.find(({ target }) => target === "json")?.mediaTypes;
  if ((mediaTypes === undefined) !== (body === undefined))
    throw new Error(`The description and the handlers of ${operationId} differ about a body`);
  const deprecation = handlers.find((handler) => handler.deprecation !== undefined)?.deprecation;
  // docs/versioning.md
  if (deprecation !== undefined && deprecation.sunset.getTime() - deprecation.since.getTime() < YEAR)
    throw new Error(`The removal of ${operationId} is announced for less than a year`);
  const announced = deprecation === undefined ? {} : named(operationId, announcement(deprecation));
  return {
    operationId,
    summary,
    description,
    ...(deprecation === undefined
      ? {}
      : { deprecated: true, "x-sunset": deprecation.sunset.toISOString().slice(0, "2030-12-05".length) }),
    security: [{ apiKey: [] }],
    ...(guard.scope === undefined ? {} : { "x-required-scope": guard.scope }),
    // Without it, customer tokens cannot use the operation.
    ...(guard.customers === undefined ? {} : { "x-customer-scope": guard.customers }),
    "x-stability": stability,
    parameters: [...parametersOf(operationId, operation, route), ...(withoutDatabase ? [] : [parameter("bookmark")])],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: `${body.description}, in at most ${MAX_BODY_BYTES} bytes.`,
            content: jsonContent(body, mediaTypes),
          },
        }),
    responses: {
      [success.status]: {
        description: success.description,
        headers: {
          ...headersOf([...(withoutDatabase ? [] : (["x-d1-bookmark"] as const)), ...ages, ...headers, ...ignored]),
          ...(success.status === 201 && headers.includes("ETag") ? named(operationId, locationHeader(path)) : {}),
          ...announced,
        },
        ...(success.body === undefined
          ? {}
          : { content: { ...jsonContent(success.body), ...streamContent(success.stream) } }),
        ...(Object.keys(links).length === 0 ? {} : { links }),
      },
      ...(success.stream === undefined ? {} : { 101: SOCKET }),
      ...(preconditions && method === "get"
        ? {
            304: {
              description: "`If-None-Match` names the present version: the resource is as the client has it.",
              headers: { ...headersOf(["x-d1-bookmark", ...ages, "ETag"]), ...announced },
            },
          }
        : {}),
      ...failures(operation, route, announced),
    },
  };
}

/** A stream of events is a text. */
const streamContent = (mediaType: string | undefined): ContentObject =>
  mediaType === undefined
    ? {}
    : {
        [mediaType]: {
          schema: {
            type: "string",
            description:
              "Messages whose `data` is a page, and whose `id` is its cursor. It goes on for as long as the client listens.",
            // As an escape, which every engine reads: `grep -P` takes a line break for the end of a pattern.
            pattern: "^retry: [0-9]+\\n",
            maxLength: 2 ** 31 - 1,
          },
        },
      };

/** OpenAPI 3.1 cannot describe messages. */
const SOCKET: ResponseObject = {
  description: "The socket is open. [A live feed](/docs/events#a-live-feed) describes its messages.",
  headers: headersOf([]),
};

function parametersOf(
  operationId: string,
  { parameters = {}, idempotencyKey }: Operation,
  { path, handlers, facts: { preconditions, cacheable } }: Mounted,
): (ParameterObject | ReferenceObject)[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
    parameterObject(name, "path", true, described(name)),
  );
  const schema = handlers.find(({ target }) => target === "query")?.schema?.();
  const inQuery = Object.keys(schema?.shape ?? {}).map((name) =>
    parameterObject(name, "query", false, described(name)),
  );
  const inHeader =
    idempotencyKey === undefined
      ? []
      : [
          parameterObject("Idempotency-Key", "header", false, {
            description: `1 to 255 visible ASCII characters. Use a new key for each ${idempotencyKey}, for example a UUID: the key of the example works once. A key in quotes, as a String of structured fields (RFC 9651), equals the key without them. Its parameters mean nothing.`,
            schema: { type: "string", maxLength: MAX_HEADER_LENGTH, pattern: IDEMPOTENCY_KEY.source },
            // Its own for each operation: a key names one request.
            example: `${operationId}-1`,
          }),
        ];
  return [
    ...inPath,
    ...inQuery,
    ...inHeader,
    ...(preconditions ? [parameter("ifMatch"), parameter("ifNoneMatch")] : []),
    ...(cacheable ? [parameter("cacheControl")] : []),
  ];

  function described(name: string): Parameter {
    const description = parameters[name];
    if (description === undefined) {
      throw new Error(
        `${operationId} is mounted at ${path}, but its description has no parameter ${name}. See routes.ts.`,
      );
    }
    return description;
  }
}
