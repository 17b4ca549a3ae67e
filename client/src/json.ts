import { INT64_FIELDS, isInt64, isInt64Field, toDigits } from "./int64.ts";

/** A 64-bit field with its integer, or else a whole string, so that no match begins inside one. Takes linear time. */
const INT64_OR_STRING =
  /("(?:id|categoryId|petId)"\s*:\s*)(-?(?:0|[1-9]\d{0,18}))(?![\d.eE])|"[^"\\]*(?:\\[^][^"\\]*)*"?/g;

/**
 * Parses JSON, with the integers of the 64-bit fields as `bigint`. A field with another value keeps it, also with an integer of
 * more than 64 bits.
 *
 * @throws SyntaxError when the text is no JSON.
 */
export function parseExact(text: string): unknown {
  // No response can contain it.
  const mark = Math.random();
  const marked = text.replace(INT64_OR_STRING, (match: string, name?: string, digits = "") =>
    name !== undefined && isInt64(BigInt(digits)) ? `${name}[${mark},"${digits}"]` : match,
  );
  return toBigInt(JSON.parse(marked), mark);
}

/** Turns the marked digits of every 64-bit field into a `bigint`. */
function toBigInt(value: unknown, mark: number): unknown {
  if (typeof value === "object" && value !== null) {
    const fields = value as Record<string, unknown>;
    for (const name of INT64_FIELDS) {
      const marked = fields[name];
      if (Array.isArray(marked) && marked[0] === mark) fields[name] = BigInt(marked[1]);
    }
    for (const field of Object.values(fields)) toBigInt(field, mark);
  }
  return value;
}

/**
 * Writes a request body: one object or an array of them, with their 64-bit fields to the last digit.
 *
 * @throws RangeError when a 64-bit field holds no exact integer.
 */
export function stringifyExact(body: object): string {
  if (Array.isArray(body)) return `[${body.map(stringifyExact).join()}]`;
  const fields = Object.entries(body)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${isInt64Field(name) ? toDigits(value) : JSON.stringify(value)}`);
  return `{${fields.join()}}`;
}
