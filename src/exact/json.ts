import { type Int64, isInt64 } from "./int64.ts";

// Both are in V8 and in the JSON.parse source text access proposal (ECMA-262 2026), not yet in TypeScript's library.
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): { readonly rawJSON: string };
}
const exactJson = JSON as unknown as ExactJson;

/** 2^53 has 16 digits: up to 15 digits, with the sign, every integer is exact as a JavaScript number. */
const ALWAYS_SAFE_LENGTH = 15;

/** A text without a long run of digits, a fraction or an exponent holds no number that `JSON.parse` would round. */
const MAY_ROUND = /\d{16}|\d[.eE]/;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits of 2^63. An integer with more cannot be an int64. */
const MAX_DIGITS = 19;

/**
 * Parses JSON without rounding integers. A number becomes a `number` when it is a safe integer, a `bigint` when it is
 * another integer of at most 19 digits, and otherwise a `number` that is no integer (a fraction, or not finite).
 * `1.0`, `1e3` and `-0` are the integers that they spell.
 *
 * @throws SyntaxError when the text is not JSON (RFC 8259), RangeError when it is nested too deep for the stack.
 */
export function parseExact(text: string): unknown {
  if (!MAY_ROUND.test(text)) return JSON.parse(text);
  return exactJson.parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? exactNumber(source) : value,
  );
}

function exactNumber(source: string): number | bigint {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(source) ?? [];
  const digits = whole + fraction;
  // Loops, not /0+$/: a regular expression would retry from every zero of a long run.
  let start = 0;
  while (digits[start] === "0") start++;
  if (start === digits.length) return 0;
  let end = digits.length;
  while (digits[end - 1] === "0") end--;

  // The value is significant * 10^scale, and the last digit of `significant` is not zero.
  const significant = digits.slice(start, end);
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  if (scale < 0) return Number.NaN;
  if (significant.length + scale > MAX_DIGITS) return Number.POSITIVE_INFINITY;
  const integer = BigInt(sign + significant + "0".repeat(scale));
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

/** The exact integer that `parseExact` found, or undefined when the value is no int64. */
export function toInt64(value: unknown): Int64 | undefined {
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) return undefined;
  const text = String(value);
  return isInt64(text) ? text : undefined;
}

/** An int64 as a value that `JSON.stringify` writes to the last digit: a plain number wherever that is exact. */
export function jsonInteger(value: Int64): number {
  // JSON.rawJSON is opaque to everything but JSON.stringify; to its readers this is the number that it spells.
  return value.length <= ALWAYS_SAFE_LENGTH ? Number(value) : (exactJson.rawJSON(value) as unknown as number);
}
