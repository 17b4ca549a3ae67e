import document from "../../public/openapi.json" with { type: "json" };
import type { OperationId } from "../../register/row.ts";
import type { Scope } from "../../src/auth/scopes.ts";
import type { Call } from "./client.ts";

/** An operation of the document, with a request made from its examples. */
export interface Operation {
  name: OperationId;
  method: string;
  /** With the examples of its parameters. */
  path: string;
  /** As in the document: `/v1/pets/{petId}`. */
  template: string;
  /** Undefined if every key may use it. */
  scope: Scope | undefined;
  /** The scopes of a key for which a good request succeeds: the feed, a webhook and a token give only what their key has. */
  scopes: Scope[];
  /** Whether it takes a bookmark, because it uses the database. */
  usesDatabase: boolean;
  /** The statuses of a good request: the success, or 404 for the resource of the example. */
  outcomes: number[];
  /** The names of its query parameters, in the order of the document. */
  queryParameters: string[];
  /** The method and the body, for `call`. */
  request: Pick<Call, "method" | "body">;
}

interface Described {
  operationId: string;
  "x-required-scope"?: string;
  parameters: { $ref?: string; in?: string; name?: string; example?: unknown }[];
  requestBody?: { content: { [mediaType: string]: { examples: { example: { value: object } } } } };
  responses: object;
}

const paths: { [path: string]: { [method: string]: Described } } = document.paths;

export const OPERATIONS: Operation[] = Object.entries(paths).flatMap(([template, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const scope = operation["x-required-scope"] as Scope | undefined;
    const [body] = Object.values(operation.requestBody?.content ?? {});
    return {
      name: operation.operationId as OperationId,
      method: method.toUpperCase(),
      template: `/v1${template}`,
      path: `/v1${template.replace(/\{(\w+)\}/g, (_, name) => exampleOf(operation, name))}`,
      scope,
      usesDatabase: operation.parameters.some(({ $ref }) => $ref?.endsWith("/bookmark")),
      scopes: [
        ...(scope === undefined ? [] : [scope]),
        // The example enables the webhook.
        ...(["/events", "/events/live", "/webhooks"].includes(template) || operation.operationId === "updateWebhook"
          ? (["pets:read"] as const)
          : []),
        // A token has a scope that its key has.
        ...(operation.operationId === "createToken" ? (["orders:place"] as const) : []),
      ],
      outcomes: Object.keys(operation.responses)
        .map(Number)
        .filter((status) => status < 300 || status === 404 || status === 409),
      queryParameters: operation.parameters.flatMap(({ in: place, name = "" }) => (place === "query" ? name : [])),
      request: { method: method.toUpperCase(), ...(body === undefined ? {} : { body: body.examples.example.value }) },
    };
  }),
);

/** The methods of each path of the document, with HEAD if there is GET. */
export const METHODS: [path: string, methods: string[]][] = Object.keys(paths).map((template) => {
  const there = OPERATIONS.filter((operation) => operation.template === `/v1${template}`);
  return [there[0]?.path ?? template, there.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))];
});

function exampleOf({ operationId, parameters }: Described, name: string): string {
  const example = parameters.find((parameter) => parameter.in === "path" && parameter.name === name)?.example;
  if (example === undefined) throw new Error(`The parameter ${name} of ${operationId} has no example`);
  return JSON.stringify(example);
}
