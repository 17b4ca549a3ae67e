import type { Context } from "hono";
import { apiKeyOf } from "../http/authentication.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { sha256 } from "../hash/sha256.ts";

/** One attempt at a creation or a patch under an `Idempotency-Key`. */
export interface Attempt {
  apiKeyId: string;
  idempotencyKey: string;
  /** Of `fingerprintOf`. */
  fingerprint: string;
}

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
 * @param target of a patch: the id in the path, and the preconditions as parsed.
 * @throws ApiError `invalid_request` unless the key is 1 to `MAX_LENGTH` visible ASCII characters.
 */
export async function idempotentAttempt<Fields extends object>(
  c: Context<AppEnv>,
  operationId: string,
  schema: { shape: Fields },
  request: { [Field in keyof Fields]?: unknown },
  ...target: unknown[]
): Promise<Attempt | undefined> {
  const header = c.req.header("Idempotency-Key");
  if (header === undefined) return undefined;
  const idempotencyKey = parseIdempotencyKey(header);
  if (idempotencyKey === undefined) {
    throw new ApiError("invalid_request", `Idempotency-Key has to be 1 to ${MAX_LENGTH} visible ASCII characters.`);
  }
  const fingerprint = await fingerprintOf(operationId, schema, request, ...target);
  return { apiKeyId: apiKeyOf(c).id, idempotencyKey, fingerprint };
}

/** The key in a header, raw or quoted, or undefined when there is none in it. */
export function parseIdempotencyKey(header: string): string | undefined {
  if (!IDEMPOTENCY_KEY.test(header)) return undefined;
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, "$1") : header;
}

/** Stands for an optional field that is left out before one that is not, and for a precondition that is not there. No value is equal to it. */
const ABSENT = {};

/**
 * The SHA-256 of an operation and the whole of its validated request, so that the same request in other bytes is the same
 * request. A retry has to stay the same across a release that adds a field: a new field goes to the end of the schema and is
 * optional there, without a default. Left out, it then leaves no trace here.
 */
export async function fingerprintOf<Fields extends object>(
  operationId: string,
  { shape }: { shape: Fields },
  request: { [Field in keyof Fields]?: unknown },
  ...target: unknown[]
): Promise<string> {
  const values = (Object.keys(shape) as (keyof Fields)[]).map((field) => request[field]);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  const parts = [...target, ...values].map((value) => (value === undefined ? ABSENT : value));
  return sha256(JSON.stringify([operationId, ...parts]));
}
