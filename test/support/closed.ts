import type { Schema } from "@cfworker/json-schema";
import { ref, UNKNOWN_VALUE } from "../../openapi/describe.ts";

/**
 * Closes the schema of a value that the service sends. A field that is not in the document is then a fault, and so is a value
 * that an open list does not list, although clients have to accept new ones.
 *
 * @throws Error for a schema of other objects than those that list their fields.
 */
export function close(schema: Schema): Schema {
  if (schema.allOf !== undefined || schema.additionalProperties !== undefined)
    throw new Error("Schemas are not put together from parts, and objects list their fields.");
  const closed = { ...schema };
  for (const keyword of ["anyOf", "oneOf"] as const) {
    const parts = schema[keyword];
    if (parts !== undefined) closed[keyword] = parts.filter((part) => !isUnknownValue(part)).map(close);
  }
  const { items, properties = {} } = schema;
  if (typeof items === "object" && !Array.isArray(items)) closed.items = close(items);
  if ([schema.type].flat().includes("object")) {
    const fields = Object.entries(properties) as [string, Schema][];
    closed.properties = Object.fromEntries(fields.map(([name, field]) => [name, close(field)]));
    closed.additionalProperties = false;
  }
  return closed;
}

function isUnknownValue(schema: Schema): boolean {
  return schema.$ref === ref("UnknownEvent").$ref || JSON.stringify(schema) === JSON.stringify(UNKNOWN_VALUE);
}
