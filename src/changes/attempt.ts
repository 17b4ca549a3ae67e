import type { Context } from "hono";
import { apiKeyOf } from "../http/authentication.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { type Attempt, fingerprintOf } from "./creation.ts";

export const MAX_LENGTH = 255;
/**
 * The key as it is, or as a String of structured fields (RFC 9651, section 3.3.3), which is how the header is specified. The document
 * publishes it.
 */
export const IDEMPOTENCY_KEY = /^(?:[!#-~][!-~]{0,254}|"(?:[!#-\x5b\x5d-~]|\\["\\]){1,255}")$/;
/** The quoted form of the longest key, each of its characters escaped. */
export const MAX_HEADER_LENGTH = 2 * MAX_LENGTH + 2;

/**
 * The attempt that a request makes under its `Idempotency-Key` header (IETF draft-ietf-httpapi-idempotency-key-header-07), or
 * undefined when there is none. The quoted form means the same as the raw one.
 *
 * @param schema of the request.
 * @param request validated.
 * @throws ApiError `invalid_request` unless the key is 1 to `MAX_LENGTH` visible ASCII characters.
 */
export async function idempotentAttempt<Fields extends object>(
  c: Context<AppEnv>,
  operationId: string,
  schema: { shape: Fields },
  request: { [Field in keyof Fields]?: unknown },
): Promise<Attempt | undefined> {
  const header = c.req.header("Idempotency-Key");
  if (header === undefined) return undefined;
  const idempotencyKey = parseIdempotencyKey(header);
  if (idempotencyKey === undefined) {
    throw new ApiError("invalid_request", `Idempotency-Key has to be 1 to ${MAX_LENGTH} visible ASCII characters.`);
  }
  return { apiKeyId: apiKeyOf(c).id, idempotencyKey, fingerprint: await fingerprintOf(operationId, schema, request) };
}

/** The key in a header, raw or quoted, or undefined when there is none in it. */
export function parseIdempotencyKey(header: string): string | undefined {
  if (!IDEMPOTENCY_KEY.test(header)) return undefined;
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, "$1") : header;
}
