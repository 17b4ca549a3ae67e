/** A media range and its weight (RFC 9110, section 12.5.1). */
const RANGE = /^\s*([^\s;]*)(?:.*;\s*q=([^\s;]*))?/;

/** The weight of each media range of an `Accept`, in lower case. NaN for a malformed one. Hono's parser would add 0.7 KiB to the bundle. */
export function weightsOf(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.toLowerCase().split(",")) {
    const [, range = "", weight = "1"] = RANGE.exec(part) ?? [];
    weights.set(range, Number(weight));
  }
  return weights;
}
