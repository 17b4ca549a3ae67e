import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;
/** A String of structured fields (RFC 9651, section 3.3.3), which is how the header is specified. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * The value of the `Idempotency-Key` header (IETF draft-ietf-httpapi-idempotency-key-header-07), or undefined when there
 * is none. The quoted form means the same as the raw one.
 *
 * @throws ApiError `invalid_request` unless it is 1 to 255 visible ASCII characters.
 */
export function idempotencyKey(c: Context<AppEnv>): string | undefined {
  const header = c.req.header("Idempotency-Key");
  if (header === undefined) return undefined;
  const key = header.startsWith('"') ? QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, "$1") : header;
  if (key === undefined || !VISIBLE_ASCII.test(key)) {
    throw new ApiError("invalid_request", "Idempotency-Key has to be 1 to 255 visible ASCII characters.");
  }
  return key;
}
