declare const brand: unique symbol;

/**
 * A 64-bit signed integer in its canonical decimal form: an optional `-`, no leading zeros, no `-0`.
 *
 * A string, because a JavaScript number is exact only up to 2^53, and D1 refuses to bind a bigint (docs/standards.md). A bigint would also have to
 * be parsed and printed for each of the hundred animals of a page.
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
  // Digit strings of equal length sort like the numbers they represent.
  return magnitude.length < MAX_MAGNITUDE.length || magnitude <= (negative ? MIN_MAGNITUDE : MAX_MAGNITUDE);
}
