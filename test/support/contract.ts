import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { expect } from "vitest";
import document from "../../public/openapi.json" with { type: "json" };

interface Header {
  required: boolean;
  schema: Schema;
}
interface Reference {
  $ref: string;
}
interface DocumentedResponse {
  headers: Record<string, Header | Reference>;
  content: { "application/json": { schema: Schema } };
}
interface Operation {
  operationId: string;
  responses: Record<string, DocumentedResponse>;
}

const paths = document.paths as unknown as Record<string, Record<string, Operation>>;
const components = document.components as unknown as {
  headers: Record<string, Header>;
  schemas: Record<string, Schema>;
};

/** Headers of every response of the service, which say nothing about the operation (src/http/respond.ts), and those of HTTP itself. */
const EVERYWHERE = new Set([
  "access-control-expose-headers",
  "content-length",
  "content-security-policy",
  "content-type",
  "strict-transport-security",
  "x-content-type-options",
  // What a server adds on the way out.
  "connection",
  "content-encoding",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

/** The schemas of answers, closed: a field that is not in the document is a fault, though clients have to put up with new ones. */
const schemas = Object.fromEntries(
  Object.entries(components.schemas).map(([name, schema]) => [
    name,
    schema.type === "object" && name !== "NewPet" ? { ...schema, additionalProperties: false } : schema,
  ]),
);

function validate(value: unknown, schema: Schema): OutputUnit[] {
  return new Validator({ ...schema, components: { schemas } }, "2020-12", false).validate(value).errors;
}

/** The operation of the document that a request means, if it means one. */
export function findOperation(method: string, pathname: string): Operation | undefined {
  for (const [template, operations] of Object.entries(paths)) {
    const pattern = new RegExp(`^/v1${template.replace(/\{\w+\}/g, "[^/]+")}$`);
    if (pattern.test(pathname)) return operations[method === "HEAD" ? "get" : method.toLowerCase()];
  }
  return undefined;
}

/**
 * Asserts that an answer is one that the document describes: its status, each of its headers, and its body. Requests that mean no
 * operation of the document are not its business.
 */
export async function expectDocumented(method: string, url: string, answer: Response): Promise<void> {
  const operation = findOperation(method, new URL(url).pathname);
  if (operation === undefined) return;
  const response = answer.clone();
  const what = `${operation.operationId} ${response.status}`;
  const documented = operation.responses[response.status];
  if (documented === undefined) return expect.unreachable(`${what} is not documented`);

  const headers = new Map<string, Header>();
  for (const [name, item] of Object.entries(documented.headers)) {
    const header = "$ref" in item ? components.headers[item.$ref.split("/").at(-1) ?? ""] : item;
    if (header) headers.set(name.toLowerCase(), header);
  }
  for (const [name, { required, schema }] of headers) {
    const value = response.headers.get(name);
    if (value === null) expect(required, `${what} lacks ${name}`).toBe(false);
    else
      expect(validate(schema.type === "integer" ? Number(value) : value, schema), `${what}, ${name}: ${value}`).toEqual(
        [],
      );
  }
  const undocumented = [...response.headers.keys()].filter((name) => !headers.has(name) && !EVERYWHERE.has(name));
  expect(undocumented, `${what}: headers that are not documented`).toEqual([]);

  expect(response.headers.get("Content-Type"), what).toBe("application/json");
  if (method === "HEAD") return;
  expect(validate(await response.json(), documented.content["application/json"].schema), `${what}: the body`).toEqual(
    [],
  );
}
