import { isInt64Field, toDigits } from "./int64.ts";

/** JSON.parse source text access (ECMA-262 2026) is not in TypeScript's library yet. Node 20 and older browsers lack it. */
type Reviver = (name: string, value: unknown, context?: { source?: string }) => unknown;

/** A 64-bit field with its integer, or else a whole string, so that no match begins inside one. Takes linear time. */
const INT64_OR_STRING = /("(?:id|categoryId|petId)"\s*:\s*)(-?\d+)|"[^"\\]*(?:\\[^][^"\\]*)*"?/g;

/**
 * Parses JSON, with the 64-bit fields as `bigint`.
 *
 * @throws SyntaxError when the text is no JSON, RangeError when a 64-bit field holds no exact integer.
 */
export function parseExact(text: string): unknown {
  const exact = hasSourceAccess() ? text : quoteInt64(text);
  return JSON.parse(exact, ((name, value, context) =>
    isInt64Field(name) ? BigInt(toDigits(context?.source ?? value)) : value) as Reviver);
}

function hasSourceAccess(): boolean {
  return JSON.parse("0", ((_name, _value, context) => context?.source === "0") as Reviver);
}

/** For a runtime whose reviver sees rounded numbers only: makes the 64-bit integers strings. */
function quoteInt64(text: string): string {
  return text.replace(INT64_OR_STRING, (match: string, name?: string, digits?: string) =>
    name === undefined ? match : `${name}"${digits}"`,
  );
}

/**
 * Writes a request body: one object, with its 64-bit fields to the last digit.
 *
 * @throws RangeError when a 64-bit field holds no exact integer.
 */
export function stringifyExact(body: object): string {
  const fields = Object.entries(body)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${isInt64Field(name) ? toDigits(value) : JSON.stringify(value)}`);
  return `{${fields.join()}}`;
}
