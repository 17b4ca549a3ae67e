import type { OpenAPIObject, OperationObject, ReferenceObject } from "openapi3-ts/oas31";

/** The members of a path that are operations (OpenAPI 3.1, Path Item Object). */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;

/** Parses a document. An integer above 2^53 becomes a bigint. Rounding would hide a change of an int64 limit. */
export function parseDocument(text: string): OpenAPIObject {
  const exactly = (_name: string, value: unknown, { source }: { source?: string } = {}) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "")
      ? BigInt(source ?? "")
      : value;
  return JSON.parse(text, exactly) as OpenAPIObject;
}

/** A value as JSON, with exact bigints. */
export function write(value: unknown, indent = 0): string {
  // Node.js 24.21.0 and ECMA-262 2026 have JSON.rawJSON and the source text of a reviver. TypeScript 7.0.2 has no types for them.
  const { rawJSON } = JSON as unknown as { rawJSON: (this: void, text: string) => unknown };
  const exactly = (_name: string, part: unknown) => (typeof part === "bigint" ? rawJSON(String(part)) : part);
  return JSON.stringify(value, exactly, indent);
}

/** A value as text for people. */
export function show(value: unknown): string {
  return value === undefined ? "not set" : write(value);
}

/** The part of the document that a reference names. */
export function follow<Part extends object>(document: OpenAPIObject, reference: string): Part {
  const names = reference.split("/").slice(1);
  const target = names
    .map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((part, name) => (part as { [name: string]: unknown } | undefined)?.[name], document);
  if (!reference.startsWith("#/") || typeof target !== "object" || target === null) {
    throw new Error(`${reference} does not exist in this document.`);
  }
  return target as Part;
}

/** The name of the component, if both versions of a part refer to the same one. */
export function sharedName(before: unknown, after: unknown): string | undefined {
  const [name, newName] = [before, after].map((part) => (part as Partial<ReferenceObject> | undefined)?.$ref);
  return name === newName ? name?.replace("#/components/", "") : undefined;
}

/** A part, or the target of its reference. Keywords next to the reference override those of the target. */
export function resolve<Part extends object>(document: OpenAPIObject, part: Part | ReferenceObject): Part {
  if (!("$ref" in part) || typeof part.$ref !== "string") return part as Part;
  const { $ref, ...beside } = part;
  return { ...resolve(document, follow<Part>(document, $ref)), ...beside };
}

/** A value with its references resolved. None may be recursive. */
export function expand(document: OpenAPIObject, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => expand(document, item));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && typeof value.$ref === "string") return expand(document, resolve(document, value));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, expand(document, part)]));
}

/**
 * Every operation by a name such as `GET /pets`.
 *
 * @throws Error for parts that a path or the document adds. Each operation has its own.
 */
export function operationsOf(document: OpenAPIObject): Map<string, OperationObject> {
  const operations = new Map<string, OperationObject>();
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    const added = document.security ?? item.$ref ?? item.parameters;
    if (added !== undefined) throw new Error(`The operations at ${path} are not whole.`);
    for (const method of METHODS) {
      const operation = item[method];
      if (operation !== undefined) operations.set(`${method.toUpperCase()} ${path}`, operation);
    }
  }
  return operations;
}
