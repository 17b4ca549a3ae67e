import { lazy } from "../lazy.ts";
import { type Int64, isInt64 } from "./int64.ts";

// In V8 and in the JSON.parse source text access proposal (ECMA-262 2026), not yet in TypeScript's library.
const exactJson = JSON as unknown as { rawJSON(text: string): { readonly rawJSON: string } };

/** Digits that survive a JavaScript number (DBL_DIG of IEEE 754): `String` writes the decimal that JSON.parse read. */
const SAFE_DIGITS = 15;

/** Only a number with more digits can be rounded, or one with so small an exponent that it becomes zero. */
const MAY_BE_ROUNDED = /\d[\d.]{15}|[eE]-\d{3}/;

/**
 * A number of more than five characters, and before it shorter numbers, strings and all the rest of JSON. Five characters hold
 * neither 16 digits nor an exponent below -99. Sticky, so that each match begins where the last one ended: never inside a string.
 */
const LONG_NUMBER = /((?:[^"\d-]|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]{0,4}[,\]}\s])*)(-?\d[\d.eE+-]{5,})/gy;

/** Begins the array that stands for a long number. Random, so that no client can send such an array. */
const mark = lazy(() => crypto.randomUUID());

/**
 * Parses JSON without rounding integers: `toInt64` reads every number in the result exactly. An array that only `toInt64` knows stands
 * for a number that may be rounded. A reviver would tell the text of each number, but it costs up to forty times as much as JSON.parse
 * alone, and in workerd it takes quadratic time for an object with certain keys.
 *
 * @throws SyntaxError when the text is not JSON (RFC 8259).
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return MAY_BE_ROUNDED.test(text) ? JSON.parse(text.replace(LONG_NUMBER, `$1["${mark()}","$2"]`)) : value;
}

/** The int64 in a value of `parseExact`, or undefined for any other value. `1.0`, `1e3` and `-0` are the integers that they spell. */
export function toInt64(value: unknown): Int64 | undefined {
  const text = typeof value === "number" ? String(value) : longInteger(value);
  return text !== undefined && isInt64(text) ? text : undefined;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits of 2^63. An integer with more is no int64. */
const MAX_DIGITS = 19;

/** The integer that a long number spells, in decimal digits, or undefined for any other value. */
function longInteger(value: unknown): string | undefined {
  if (!Array.isArray(value) || value[0] !== mark()) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(value[1]) ?? [];
  const digits = whole + fraction;
  // Loops, not /0+$/: a regular expression would retry from every zero of a long run.
  let start = 0;
  while (digits[start] === "0") start++;
  if (start === digits.length) return "0";
  let end = digits.length;
  while (digits[end - 1] === "0") end--;

  // The value is significant * 10^scale, and the last digit of `significant` is not zero.
  const significant = digits.slice(start, end);
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  return scale < 0 || significant.length + scale > MAX_DIGITS ? undefined : sign + significant + "0".repeat(scale);
}

/** An int64 as a value that `JSON.stringify` writes to the last digit: a plain number wherever that is exact. */
export function jsonInteger(value: Int64): number {
  // JSON.rawJSON is opaque to everything but JSON.stringify; to its readers this is the number that it spells.
  return value.length <= SAFE_DIGITS ? Number(value) : (exactJson.rawJSON(value) as unknown as number);
}
