import type * as z from "zod/mini";
import { isInt64 } from "../exact/int64.ts";
import { isFromFloat, isLongNumber, parseExact, rawJSON, toInt64 } from "../exact/json.ts";
import { MAX_LENGTH, parseIdempotencyKey } from "../idempotency/attempt.ts";
import { isObject, type JsonObject } from "./json-rpc.ts";
import type { Schema, Tool } from "./tools.ts";

type Path = readonly (string | number)[];

/** The names of arguments that a message repeats. An API key is longer than any of them. */
const SHOWN_NAME = /^\w{1,40}$/;

/** The types whose values may come as JSON in a text. */
const WRITTEN_AS_TEXT = new Set(["array", "boolean", "integer", "object"]);

/** The value of a text that is JSON, and any other value as it is. */
export function fromText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseExact(value);
  } catch {
    return value;
  }
}

/**
 * Reads the arguments of a call. Its issues are what the service would not notice, or would say in words of HTTP: unknown and missing
 * arguments, values outside a list, and types. The service checks the rest. No more than the depth of the schema is read, so that what
 * follows meets no deep value.
 *
 * @returns the arguments with each int64 as `rawJSON`. If there is an issue, they are worth nothing.
 */
export function readArguments({ definition, refused = {} }: Tool, given: JsonObject) {
  const issues: z.core.$ZodIssue[] = [];
  const fail = (path: Path, message: string) => void issues.push({ code: "custom", path: [...path], message });
  const values = readObject(definition.inputSchema, given, []);
  const key = values?.["idempotencyKey"];
  if (typeof key === "string" && parseIdempotencyKey(key) === undefined)
    fail(["idempotencyKey"], `has to be 1 to ${MAX_LENGTH} visible ASCII characters, without spaces`);
  return { values: values as Record<string, unknown>, issues };

  function read(schema: Schema, given: unknown, path: Path): unknown {
    const types = typesOf(schema);
    if (given === null && types.includes("null")) return null;
    const value = types.some((type) => WRITTEN_AS_TEXT.has(type)) ? fromText(given) : given;
    if (types.includes("object")) return readObject(schema, value, path);
    const { items, maxItems = Infinity } = schema;
    if (items !== undefined) {
      if (!Array.isArray(value) || isLongNumber(value)) return fail(path, "has to be an array");
      // A list by no ids would be a list of everything.
      if (value.length === 0) return fail(path, "has to have an item");
      // A message would name every place.
      if (value.length > maxItems) return fail(path, `has to have at most ${maxItems} items`);
      // The places of a batch stand alone, as in the messages of the service.
      const before = path[0] === "items" ? [] : path;
      return value.map((item, place) => read(items, item, [...before, place]));
    }
    if (schema.pattern !== undefined) {
      const integer = int64Of(value);
      if (integer !== undefined) return rawJSON(integer);
      return fail(path, `has to be ${digits(value)}an integer from -2^63 to 2^63 - 1 as a string, like "17"`);
    }
    if (types.includes("integer")) {
      const integer = toInt64(value);
      return integer === undefined ? fail(path, `has to be ${digits(value)}an integer`) : rawJSON(integer);
    }
    if (types.includes("boolean")) return typeof value === "boolean" ? value : fail(path, "has to be true or false");
    if (typeof value !== "string" || !value.isWellFormed()) return fail(path, "has to be a string");
    if (schema.enum?.includes(value) === false) {
      const reasons = refused[path.at(-1) ?? ""] ?? {};
      const why = Object.hasOwn(reasons, value) ? ` (${reasons[value]})` : "";
      return fail(path, `has to be one of ${schema.enum.join(", ")}${why}`);
    }
    return value;
  }

  function readObject({ properties = {}, required = [] }: Schema, value: unknown, path: Path): JsonObject | void {
    if (!isObject(value)) return fail(path, "has to be an object");
    const names = Object.keys(properties).join(", ") || "no arguments";
    const members: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(value)) {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (schema === undefined)
        fail([...path, SHOWN_NAME.test(name) ? name : "an argument"], `is unknown, there is ${names}`);
      // Null is taken for an argument that is left out.
      else if (item !== null || typesOf(schema).includes("null")) members[name] = read(schema, item, [...path, name]);
    }
    for (const name of required)
      if (!Object.hasOwn(members, name)) {
        const meaning = properties[name]?.description;
        fail([...path, name], `is required${meaning === undefined ? "" : `: ${meaning}`}`);
      }
    return members;
  }
}

/** What a number lacks that a float may have rounded. */
const digits = (value: unknown): string => (isFromFloat(value) ? "written with all its digits: " : "");

const typesOf = ({ type = [] }: Schema): readonly string[] => [type].flat();

/** An int64 as text. A number above 2^53 - 1 is none: the client may have rounded it. */
function int64Of(value: unknown): string | undefined {
  if (typeof value === "string") return isInt64(value) ? value : undefined;
  const integer = toInt64(value);
  return integer !== undefined && Number.isSafeInteger(Number(integer)) ? integer : undefined;
}
