import { toTimestamp } from "../exact/timestamp.ts";
import { sha256 } from "../hash/sha256.ts";

/** The record of an API key in KV, stored under the SHA-256 of the key. Times are ISO 8601. */
export interface KeyRecord {
  /** Names the key in logs and for operators. Not a secret. */
  id: string;
  name: string;
  /** Strings, not `Scope`s: a scope that this version does not know is ignored. */
  scopes: string[];
  createdAt: string;
  expiresAt?: string | undefined;
  revokedAt?: string | undefined;

  // For operators. The service reads only the fields above.
  /** The `expiresAt` from before a rotation brought it forward. Null when the key had none. */
  givenExpiresAt?: string | null | undefined;
  /** The ids of the keys that replaced it in rotations, the oldest first. */
  replacedBy?: string[] | undefined;
}

const isString = (value: unknown): value is string => typeof value === "string";
const isListOfStrings = (value: unknown) => Array.isArray(value) && value.every(isString);
const isTimestamp = (value: unknown) => toTimestamp(value) !== undefined;

/**
 * The rule of each field. Written by hand, because every cold start reads a record, and would wait for the first schema.
 */
const RULES: { [field in keyof Required<KeyRecord>]: (value: unknown) => boolean } = {
  id: (value) => isString(value) && value !== "",
  name: isString,
  scopes: isListOfStrings,
  createdAt: isTimestamp,
  expiresAt: isTimestamp,
  revokedAt: isTimestamp,
  givenExpiresAt: (value) => value === null || isTimestamp(value),
  replacedBy: isListOfStrings,
};
const REQUIRED = ["id", "name", "scopes", "createdAt"] as const;

/** The record in a KV value, or undefined when the value is not one. */
export function parseKeyRecord(value: string): KeyRecord | undefined {
  let record: unknown;
  try {
    record = JSON.parse(value);
  } catch {
    return undefined;
  }
  return isKeyRecord(record) ? record : undefined;
}

/** Strict: a misspelt field, for example `revoked_at`, must not let its key in. */
function isKeyRecord(value: unknown): value is KeyRecord {
  if (typeof value !== "object" || value === null) return false;
  return (
    REQUIRED.every((field) => Object.hasOwn(value, field)) &&
    Object.entries(value).every(([field, item]) => Object.hasOwn(RULES, field) && RULES[field as keyof KeyRecord](item))
  );
}

/** The name under which KV holds a key's record: `key:` and the SHA-256 of the whole key in hexadecimal. */
export async function keyRecordName(key: string): Promise<string> {
  return recordNameOfHash(await sha256(key));
}

/** The same name, from the SHA-256. */
export const recordNameOfHash = (hash: string): string => `key:${hash}`;
