// Compares the rules of two versions of a schema for a single value: its type, its list of values, its limits. Each rule answers
// one question: which values of `from` does `to` refuse?
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { expand, write } from "../read.ts";
import type { Keywords } from "./flatten.ts";

/** Whether clients send the value or receive it. */
export type Direction = "request" | "response";

export const CONSEQUENCE = {
  request: "so requests that were valid are refused",
  response: "so clients receive values that they were told not to expect",
};

const MAY = { request: "may no longer", response: "may now" };

const TYPES = ["null", "boolean", "object", "array", "number", "integer", "string"];

/** The limits, each with its value when a schema does not set it. */
const UNLIMITED = new Map([
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"].map((name) => [name, Infinity] as const),
  ...["minimum", "exclusiveMinimum"].map((name) => [name, -Infinity] as const),
  ...["minLength", "minItems", "minProperties"].map((name) => [name, 0] as const),
]);

export function typesOf(schema: Keywords): string[] {
  const types = schema.type ?? valuesOf(schema)?.map(typeOf) ?? TYPES;
  return [...new Set([types].flat().flatMap((type) => (type === "number" ? ["number", "integer"] : [type])))];
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "bigint" || Number.isInteger(value) ? "integer" : typeof value;
}

export function compareTypes(direction: Direction, where: string, from: string[], to: string[]): string[] {
  const refused = from.filter((type) => !to.includes(type));
  if (refused.length === 0) return [];
  return [`${where}: ${MAY[direction]} be of type ${refused.join(" or ")}, ${CONSEQUENCE[direction]}`];
}

export function valuesOf({ enum: list, const: only }: Keywords): unknown[] | undefined {
  return only === undefined ? list : [only];
}

export function compareLists(direction: Direction, where: string, from: Keywords, to: Keywords): string[] {
  const [given, accepted] = [valuesOf(from) ?? [], valuesOf(to) ?? valuesOf(from) ?? []];
  return tellValues(direction, where, missing(given, accepted));
}

/** Sentences on values that only one side allows. */
export function tellValues(direction: Direction, where: string, values: unknown[]): string[] {
  return values.map((value) => `${where}: ${MAY[direction]} be ${write(value)}, ${CONSEQUENCE[direction]}`);
}

export function missing(values: unknown[], known: unknown[]): unknown[] {
  const texts = new Set(known.map((value) => write(value)));
  return values.filter((value) => !texts.has(write(value)));
}

/** Whether `to` accepts under this keyword all that `from` accepts. A keyword that this module does not know has to be equal. */
export function isKept(
  keyword: string,
  from: Keywords,
  to: Keywords,
  documents: [OpenAPIObject, OpenAPIObject],
): boolean {
  if (keyword === "enum" || keyword === "const") return valuesOf(from) !== undefined;
  const unlimited = UNLIMITED.get(keyword);
  if (unlimited === undefined) {
    return write(expand(documents[0], from[keyword])) === write(expand(documents[1], to[keyword]));
  }
  const [given, accepted] = [from[keyword] ?? unlimited, to[keyword]] as [number, number];
  return unlimited === Infinity ? given <= accepted : given >= accepted;
}
