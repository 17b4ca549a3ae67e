import { lazy } from "../lazy.ts";
import { type Int64, isInt64 } from "./int64.ts";

/** A text that is the JSON of a value of this type. Any text is assignable: it carries the type, and checks nothing. */
export type Json<Value> = string & { readonly json?: Value };

/** A number as `JSON.stringify` writes it, which would round a JavaScript number. Any JSON text but that of an object or an array. */
export const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** Only a number with more than 15 digits can be rounded (DBL_DIG of IEEE 754), or one whose exponent is so small that it becomes zero. */
const MAY_BE_ROUNDED = /\d[\d.]{15}|[eE]-\d{3}/;

/**
 * Matches a number of more than five characters, together with the shorter numbers, strings and other JSON before it. Five
 * characters hold neither 16 digits nor an exponent below -99. Sticky, so that each match begins where the last one ended and
 * never inside a string.
 */
const LONG_NUMBER = /((?:[^"\d-]|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]{0,4}[,\]}\s])*)(-?\d[\d.eE+-]{5,})/gy;

/** The first element of an array that represents a long number. Random, so that no client can send such an array. */
const mark = lazy(() => crypto.randomUUID());

/**
 * Parses JSON without rounding integers: `toInt64` reads every number in the result exactly. A number that could be rounded
 * becomes an array that only `toInt64` reads. A reviver would get the text of each number, but it costs up to forty times as
 * much as JSON.parse alone, and in workerd it takes quadratic time for an object with certain keys.
 *
 * @throws SyntaxError when the text is not JSON (RFC 8259).
 */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return MAY_BE_ROUNDED.test(text) ? JSON.parse(text.replace(LONG_NUMBER, `$1["${mark()}","$2"]`)) : value;
}

/** Whether a value of `parseExact` stands for a long number. */
export function isLongNumber(value: unknown): boolean {
  return Array.isArray(value) && value[0] === mark();
}

/** The int64 in a value from `parseExact`, or undefined for any other value. `1.0`, `1e3` and `-0` count as integers. */
export function toInt64(value: unknown): Int64 | undefined {
  const text = typeof value === "number" ? String(value) : longInteger(value);
  return text !== undefined && isInt64(text) ? text : undefined;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits of 2^63. An integer with more digits is not an int64. */
const MAX_DIGITS = 19;

/** A long number as an integer in decimal digits, or undefined for any other value. */
function longInteger(value: unknown): string | undefined {
  if (!isLongNumber(value)) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec((value as string[])[1] ?? "") ?? [];
  const digits = whole + fraction;
  // Loops, not /0+$/: a regular expression would retry from every zero of a long run.
  let start = 0;
  while (digits[start] === "0") start++;
  if (start === digits.length) return "0";
  let end = digits.length;
  while (digits[end - 1] === "0") end--;

  // The value is significant * 10^scale. The last digit of `significant` is not zero.
  const significant = digits.slice(start, end);
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  return scale < 0 || significant.length + scale > MAX_DIGITS ? undefined : sign + significant + "0".repeat(scale);
}
