import type * as z from "zod/mini";
import { isInt64 } from "../exact/int64.ts";
import { isLongNumber, toInt64 } from "../exact/json.ts";
import { MAX_LENGTH, parseIdempotencyKey } from "../idempotency/attempt.ts";
import { isObject, type JsonObject } from "./json-rpc.ts";
import type { Schema, Tool } from "./tools.ts";

type Path = readonly (string | number)[];

/** The names of arguments that a message repeats. An API key is longer than any of them. */
const SHOWN_NAME = /^\w{1,40}$/;

/**
 * What the service would not notice, or would say in words of HTTP: unknown and missing arguments, values outside a list, and types. It
 * checks the rest. No more than the depth of the schema is read, so that what follows meets no deep value.
 */
export function issuesOf({ definition, refused = {} }: Tool, values: JsonObject): z.core.$ZodIssue[] {
  const issues: z.core.$ZodIssue[] = [];
  const add = (path: Path, message: string) => void issues.push({ code: "custom", path: [...path], message });
  check(definition.inputSchema, values, []);
  const key = values["idempotencyKey"];
  if (typeof key === "string" && parseIdempotencyKey(key) === undefined)
    add(["idempotencyKey"], `has to be 1 to ${MAX_LENGTH} visible ASCII characters, without spaces`);
  return issues;

  function check(schema: Schema, value: unknown, path: Path): void {
    const types = [schema.type ?? []].flat();
    if (value === null && types.includes("null")) return;
    if (types.includes("object")) return checkObject(schema, value, path);
    if (schema.items !== undefined) {
      if (!Array.isArray(value) || isLongNumber(value)) return add(path, "has to be an array");
      // A list by no ids would be a list of everything.
      if (value.length === 0) add(path, "has to have an item");
      // The places of a batch stand alone, as in the messages of the service.
      const before = path[0] === "items" ? [] : path;
      for (const [place, item] of value.entries()) check(schema.items, item, [...before, place]);
      return;
    }
    if (schema.pattern !== undefined) {
      if (int64Of(value) === undefined) add(path, 'has to be an integer from -2^63 to 2^63 - 1 as a string, like "17"');
    } else if (types.includes("integer")) {
      if (typeof value !== "number") add(path, "has to be an integer");
    } else if (typeof value !== "string" || !value.isWellFormed()) add(path, "has to be a string");
    else if (schema.enum?.includes(value) === false) {
      const why = refused[path.at(-1) ?? ""]?.[value];
      add(path, `has to be one of ${schema.enum.join(", ")}${why === undefined ? "" : ` (${why})`}`);
    }
  }

  function checkObject({ properties = {}, required = [] }: Schema, value: unknown, path: Path): void {
    if (!isObject(value)) return add(path, "has to be an object");
    const names = Object.keys(properties);
    const takes = names.length === 0 ? "no arguments" : names.join(", ");
    for (const [name, item] of Object.entries(value)) {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (schema !== undefined) check(schema, item, [...path, name]);
      else add([...path, SHOWN_NAME.test(name) ? name : "an argument"], `is unknown, there is ${takes}`);
    }
    for (const name of required)
      if (value[name] === undefined) {
        const meaning = properties[name]?.description;
        add([...path, name], `is required${meaning === undefined ? "" : `: ${meaning}`}`);
      }
  }
}

/** An int64 as text. A number above 2^53 - 1 is none: the client may have rounded it. */
export function int64Of(value: unknown): string | undefined {
  if (typeof value === "string") return isInt64(value) ? value : undefined;
  const integer = toInt64(value);
  return integer !== undefined && Number.isSafeInteger(Number(integer)) ? integer : undefined;
}
