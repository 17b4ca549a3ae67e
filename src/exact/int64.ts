declare const brand: unique symbol;

/**
 * A 64-bit signed integer in its canonical decimal form: no sign but a leading `-`, no leading zeros, no `-0`.
 *
 * Text, because every other form costs: a JavaScript number is exact only up to 2^53, D1 refuses to bind a bigint, and a
 * bigint would have to be parsed and printed again for each of the hundred animals of a page.
 */
export type Int64 = string & { readonly [brand]: "int64" };

const CANONICAL = /^(?:0|-?[1-9]\d{0,18})$/;
const MAX_MAGNITUDE = "9223372036854775807";
const MIN_MAGNITUDE = "9223372036854775808";

/** Whether `text` is the canonical decimal form of an integer from -2^63 to 2^63 - 1. */
export function isInt64(text: string): text is Int64 {
  if (!CANONICAL.test(text)) return false;
  const negative = text.startsWith("-");
  const magnitude = negative ? text.slice(1) : text;
  // Digits of equal length order like the numbers they spell.
  return magnitude.length < MAX_MAGNITUDE.length || magnitude <= (negative ? MIN_MAGNITUDE : MAX_MAGNITUDE);
}
