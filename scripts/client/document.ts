import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject, OperationObject, ParameterObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";

export const CLIENT = join(import.meta.dirname, "../../client");

type Operation = OperationObject & { operationId: string; "x-stability": "stable" | "beta" | "experimental" };

/** The document as programs read it. `npm run generate:public` writes it. */
export function readDocument(): OpenAPIObject {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../../public/openapi.json"), "utf8"));
}

/** The first line of the generated types, with a hash of the parts of the document that they come from. */
export function originOf({ paths, components }: OpenAPIObject): string {
  const hash = createHash("sha256").update(JSON.stringify({ paths, components })).digest("hex");
  return `// From the paths and components of the OpenAPI document with SHA-256 ${hash}.`;
}

export function operationsOf({ paths = {} }: OpenAPIObject): Operation[] {
  return Object.values(paths)
    .flatMap((path) => Object.values(path) as Partial<Operation>[])
    .filter((operation): operation is Operation => operation.operationId !== undefined);
}

/**
 * The names of the fields and query parameters that hold 64-bit integers, and of those that may not have such a name. A text in a
 * response may: the client converts numbers only.
 */
export function fieldNames(document: OpenAPIObject): { int64: Set<string>; other: Set<string> } {
  const names = { int64: new Set<string>(), other: new Set<string>() };
  const add = (name: string, schema: SchemaObject | ReferenceObject | undefined, isSent: boolean): void => {
    if (schema === undefined || "$ref" in schema) return;
    const { format, type } = schema.items !== undefined && "format" in schema.items ? schema.items : schema;
    if (format === "int64") names.int64.add(name);
    else if (isSent || type !== "string") names.other.add(name);
  };
  const operations = operationsOf(document);
  const bodies = JSON.stringify(operations.map(({ requestBody }) => requestBody));
  for (const [key, schema] of Object.entries(document.components?.schemas ?? {}) as [string, SchemaObject][]) {
    const isSent = bodies.includes(`"#/components/schemas/${key}"`);
    for (const [name, property] of Object.entries(schema.properties ?? {})) add(name, property, isSent);
  }
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters as ParameterObject[])) {
    if (parameter.in === "query") add(parameter.name, parameter.schema, true);
  }
  return names;
}
