import { lazy } from "../lazy.ts";
import { type Int64, isInt64 } from "./int64.ts";

/** A text that is the JSON of a value of this type. Any text is assignable: it carries the type, and checks nothing. */
export type Json<Value> = string & { readonly json?: Value };

/** A number as `JSON.stringify` writes it, which would round a JavaScript number. Any JSON text but that of an object or an array. */
export const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** A number that JSON.parse may round, or that a float may have rounded before: more than 15 digits (DBL_DIG of IEEE 754), or an exponent. */
const MAY_BE_ROUNDED = /\d(?:[\d.]{15}|[eE][+-]?\d)/;

/**
 * Matches a long number, together with the short numbers, strings and other JSON before it. A short number has at most five digits
 * and an exponent below 10, so it is exact and below 10^14. Sticky, so that each match begins where the last one ended and never
 * inside a string.
 */
const LONG_NUMBER =
  /((?:[^"\d-]|"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.]{0,4}(?:[eE]\d)?[,\]}\s])*)(-?\d(?:[\d.eE+-]{5,}|[\d.]*[eE][\d+-]{2,}))/gy;

/** The first element of an array that represents a long number. Random, so that no client can send such an array. */
const mark = lazy(() => crypto.randomUUID());

/**
 * Parses JSON without rounding integers: `toInt64` reads every number in the result exactly. A number that could be rounded
 * becomes an array that only `toInt64` reads. A reviver would get the text of each number, but for 30,000 short numbers it
 * costs 90 times as much as JSON.parse alone (workerd 1.20261023.1).
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

/**
 * The int64 in a value from `parseExact`, or undefined for any other value. `1.0`, `1e3` and `-0` count as integers. A number that
 * `isFromFloat` does not.
 */
export function toInt64(value: unknown): Int64 | undefined {
  return isFromFloat(value) ? undefined : toInteger(value);
}

/** The same in every notation. */
export function toInteger(value: unknown): Int64 | undefined {
  const text = typeof value === "number" ? String(value) : longInteger(decimalOf(value));
  return text !== undefined && isInt64(text) ? text : undefined;
}

/**
 * Whether a value of `parseExact` is a number that a float has probably rounded: it has a fraction or an exponent, and its magnitude is
 * 10^14 or more. Some libraries write an integer that they read into a float with 14 digits and an exponent (docs/guarantees.md).
 */
export function isFromFloat(value: unknown): boolean {
  const decimal = decimalOf(value);
  return decimal !== undefined && decimal.isFloat && decimal.significant.length + decimal.scale > FLOAT_DIGITS;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits of 2^63. An integer with more digits is not an int64. */
const MAX_DIGITS = 19;
/** Digits that every formatter of floats keeps: Lua's `%.14g` has the fewest. */
const FLOAT_DIGITS = 14;

/** A number: significant * 10^scale. The significant digits neither begin nor end with a zero, and zero has none. */
interface Decimal {
  sign: string;
  significant: string;
  scale: number;
  /** Whether it has a fraction or an exponent. */
  isFloat: boolean;
}

/** A long number, or undefined for any other value. */
function decimalOf(value: unknown): Decimal | undefined {
  if (!isLongNumber(value)) return undefined;
  const [, sign = "", whole = "", fraction, exponent] = NUMBER.exec((value as string[])[1] ?? "") ?? [];
  const digits = whole + (fraction ?? "");
  // Loops, not /0+$/: a regular expression would retry from every zero of a long run.
  let start = 0;
  while (digits[start] === "0") start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === "0") end--;
  const significant = digits.slice(start, end);
  const isFloat = fraction !== undefined || exponent !== undefined;
  if (significant === "") return { sign: "", significant, scale: 0, isFloat };
  return { sign, significant, scale: Number(exponent ?? 0) - (fraction ?? "").length + digits.length - end, isFloat };
}

/** A number as an integer in decimal digits. Undefined when it has a fraction, or too many digits. */
function longInteger(decimal: Decimal | undefined): string | undefined {
  if (decimal === undefined) return undefined;
  const { sign, significant, scale } = decimal;
  if (scale < 0 || significant.length + scale > MAX_DIGITS) return undefined;
  return significant === "" ? "0" : sign + significant + "0".repeat(scale);
}
