import type { Context } from "hono";
import { ownerOf } from "../http/authentication.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { sha256 } from "../hash/sha256.ts";

/** One attempt at a creation or a patch under an `Idempotency-Key`. */
export interface Attempt {
  /** The id of the key. With a customer token, a space and the customer follow: customers of a key share no `Idempotency-Key`. */
  apiKeyId: string;
  idempotencyKey: string;
  /** From `fingerprintOf`. */
  fingerprint: string;
}

export const MAX_LENGTH = 255;
/**
 * The key as is, or as a String of structured fields (RFC 9651, section 3.3.3), the form that the draft specifies. The document
 * publishes this pattern. `\x22` is a quotation mark that ends no string of generated code.
 */
export const IDEMPOTENCY_KEY = /^(?:[!#-~][!-~]{0,254}|\x22(?:[!#-\x5b\x5d-~]|\\[\x22\\]){1,255}\x22)$/;
/** The length of the longest key in its quoted form, with every character escaped. */
export const MAX_HEADER_LENGTH = 2 * MAX_LENGTH + 2;
/** A String with parameters (RFC 9651, section 3.1.2), which mean nothing here. */
const STRING_WITH_PARAMETERS =
  /^("(?:[^"\\]|\\.)*")(?:; *[*a-z][*a-z0-9_.-]*(?:=(?:[!#-:<-~]+|%?"(?:[ !#-[\]-~]|\\["\\])*"))?)+$/;

/**
 * The attempt of a request with an `Idempotency-Key` header (IETF draft-ietf-httpapi-idempotency-key-header-07), or undefined
 * without one. The quoted form of a key equals the raw one.
 *
 * @param parts of the request, for `fingerprintOf`.
 * @throws ApiError `invalid_request` unless the key is 1 to `MAX_LENGTH` visible ASCII characters.
 */
export async function idempotentAttempt(
  c: Context<AppEnv>,
  operationId: string,
  parts: () => unknown[],
): Promise<Attempt | undefined> {
  const header = c.req.header("Idempotency-Key");
  if (header === undefined) return undefined;
  const idempotencyKey = parseIdempotencyKey(header);
  if (idempotencyKey === undefined) {
    throw new ApiError("invalid_request", `Idempotency-Key has to be 1 to ${MAX_LENGTH} visible ASCII characters.`);
  }
  const fingerprint = await fingerprintOf(operationId, ...parts());
  return { apiKeyId: ownerOf(c), idempotencyKey, fingerprint };
}

/** The key in a header, raw or quoted. Undefined when the header is malformed. */
export function parseIdempotencyKey(header: string): string | undefined {
  const key = STRING_WITH_PARAMETERS.exec(header)?.[1] ?? header;
  if (!IDEMPOTENCY_KEY.test(key)) return undefined;
  return key.startsWith('"') ? key.slice(1, -1).replace(/\\(.)/g, "$1") : key;
}

/** Stands for an omitted field that is followed by one with a value. No value equals it. */
const ABSENT = {};

/**
 * The values of a validated request, in the order of its schema. A request that omits the last fields has as many values less: its
 * fingerprint must not change when a release adds a field. A new field is therefore the last of the schema, optional and without a
 * default.
 */
export function valuesOf<Fields extends object>(
  { shape }: { shape: Fields },
  request: { [Field in keyof Fields]?: unknown },
): unknown[] {
  const values = (Object.keys(shape) as (keyof Fields)[]).map((field) => request[field]);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return values.map((value) => (value === undefined ? ABSENT : value));
}

/**
 * The SHA-256 of an operation and its validated request. Requests with equal values have equal fingerprints, also when their
 * bytes differ.
 *
 * @param parts the id in the path and the preconditions as parsed, if the operation has them, and then `valuesOf`.
 */
export function fingerprintOf(operationId: string, ...parts: unknown[]): Promise<string> {
  return sha256(JSON.stringify([operationId, ...parts]));
}
