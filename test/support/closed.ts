import type { Schema } from "@cfworker/json-schema";
import { ref, UNKNOWN_VALUE } from "../../openapi/describe.ts";

/**
 * Closes the schema of a value that the service sends. A field that is not in the document is then a fault, and so is a value
 * that an open list does not list, although clients have to accept new ones. Requests stay open, even with a schema that they
 * share with responses.
 */
export function close(schema: Schema): Schema {
  const { $ref, allOf, anyOf, oneOf, properties, type } = schema;
  const mayBeObject = [type].flat().includes("object") || [$ref, allOf, anyOf, oneOf, properties].some(Boolean);
  // Not additionalProperties: one part of an `allOf` would refuse the fields of another.
  return { ...(mayBeObject ? { unevaluatedProperties: false } : {}), ...closeInside(schema) };
}

/** Closes the values inside a value. The value itself is closed where its schema is used as a whole. */
export function closeInside(schema: Schema): Schema {
  const closed = { ...schema };
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    const parts = schema[keyword];
    if (parts !== undefined) closed[keyword] = parts.filter((part) => !isUnknownValue(part)).map(closeInside);
  }
  for (const keyword of ["items", "additionalProperties"] as const) {
    const inside = schema[keyword];
    if (typeof inside === "object" && !Array.isArray(inside)) closed[keyword] = close(inside);
  }
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length > 0) {
    closed.properties = Object.fromEntries(
      fields.map(([name, field]) => [name, typeof field === "boolean" ? field : close(field)]),
    );
  }
  return closed;
}

function isUnknownValue(schema: Schema): boolean {
  return schema.$ref === ref("UnknownEvent").$ref || JSON.stringify(schema) === JSON.stringify(UNKNOWN_VALUE);
}
