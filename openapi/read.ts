import type { OpenAPIObject, OperationObject, ReferenceObject } from "openapi3-ts/oas31";

/** The members of a path that are operations (OpenAPI 3.1, Path Item Object). */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;

/** Parses a document. An integer past 2^53 becomes a bigint: rounded, the limit of an int64 could change unseen. */
export function parseDocument(text: string): OpenAPIObject {
  const exactly = (_name: string, value: unknown, { source }: { source?: string } = {}) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "")
      ? BigInt(source ?? "")
      : value;
  return JSON.parse(text, exactly) as OpenAPIObject;
}

/** A value as JSON, with bigints to the last digit. */
export function write(value: unknown, indent = 0): string {
  // In V8 and in ECMA-262 2026, not yet in TypeScript's library. The source text that a reviver gets is another part of it.
  const { rawJSON } = JSON as unknown as { rawJSON: (this: void, text: string) => unknown };
  const exactly = (_name: string, part: unknown) => (typeof part === "bigint" ? rawJSON(String(part)) : part);
  return JSON.stringify(value, exactly, indent);
}

/** A value for people to read. */
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
    throw new Error(`${reference} points at nothing in this document.`);
  }
  return target as Part;
}

/** The name of the component that both of two versions of a part refer to. */
export function sharedName(before: unknown, after: unknown): string | undefined {
  const [name, newName] = [before, after].map((part) => (part as Partial<ReferenceObject> | undefined)?.$ref);
  return name === newName ? name?.replace("#/components/", "") : undefined;
}

/** A part itself, or what it refers to. Words beside the reference come before those of its target. */
export function resolve<Part extends object>(document: OpenAPIObject, part: Part | ReferenceObject): Part {
  if (!("$ref" in part) || typeof part.$ref !== "string") return part as Part;
  const { $ref, ...beside } = part;
  return { ...resolve(document, follow<Part>(document, $ref)), ...beside };
}

/** A value with its references written out, as deep as they do not repeat. */
export function expand(document: OpenAPIObject, value: unknown, open: string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => expand(document, item, open));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && typeof value.$ref === "string" && !open.includes(value.$ref)) {
    return expand(document, resolve(document, value), [...open, value.$ref]);
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, expand(document, part, open)]));
}

/** Every operation, as `GET /pets`, with what its path and the document say of it. */
export function operationsOf(document: OpenAPIObject): Map<string, OperationObject> {
  const operations = new Map<string, OperationObject>();
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    const { parameters = [], ...members } = resolve(document, item);
    for (const method of METHODS) {
      const operation = members[method];
      if (operation === undefined) continue;
      operations.set(`${method.toUpperCase()} ${path}`, {
        security: document.security ?? [],
        ...operation,
        parameters: [...parameters, ...(operation.parameters ?? [])],
      });
    }
  }
  return operations;
}
