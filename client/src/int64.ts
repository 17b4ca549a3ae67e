/** A 64-bit integer as the client takes it. A `number` has to be a safe integer, and a text decimal digits. */
export type Int64Input = bigint | number | string;

/** The fields of the API that hold 64-bit integers. `npm run check:client` compares them with the document. */
export const INT64_FIELDS = ["id", "categoryId", "petId"] as const;
export type Int64Field = (typeof INT64_FIELDS)[number];

export function isInt64Field(name: string): name is Int64Field {
  return (INT64_FIELDS as readonly string[]).includes(name);
}

export function isInt64(integer: bigint): boolean {
  return BigInt.asIntN(64, integer) === integer;
}

/** A sign and the digits of 2^63. */
const DECIMAL = /^-?\d{1,19}$/;

/**
 * The decimal digits of an integer.
 *
 * @throws RangeError when the value is not exactly one 64-bit integer. A number above 2^53 may have been rounded already.
 */
export function toDigits(value: unknown): string {
  const exact = typeof value === "bigint" || Number.isSafeInteger(value);
  if (exact || (typeof value === "string" && DECIMAL.test(value))) {
    const integer = BigInt(value as Int64Input);
    if (isInt64(integer)) return String(integer);
  }
  throw new RangeError(`${String(value)} is not an exact 64-bit integer. Use a bigint or a string of decimal digits.`);
}
