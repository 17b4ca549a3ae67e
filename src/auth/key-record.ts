import * as z from "zod/mini";
import { sha256 } from "../hash/sha256.ts";

const timestamp = z.iso.datetime();

// Strict: a field that is misspelt, `revoked_at` say, must not let its key in.
const keyRecord = z.strictObject({
  /** Names the key in logs and for operators; no secret. */
  id: z.string().check(z.minLength(1)),
  name: z.string(),
  /** Texts, not `Scope`s: a scope that this version does not know grants nothing, and takes nothing away. */
  scopes: z.array(z.string()),
  createdAt: timestamp,
  expiresAt: z.optional(timestamp),
  revokedAt: z.optional(timestamp),

  // For operators. The service goes by the fields above.
  /** What `expiresAt` was before a rotation brought it forward; null when the key had none. */
  givenExpiresAt: z.optional(z.nullable(timestamp)),
  /** The ids of the keys that rotations created in its place, the oldest first. */
  replacedBy: z.optional(z.array(z.string())),
});

/** What KV holds of an API key, under the SHA-256 of the key. Times are ISO 8601 in UTC. */
export type KeyRecord = z.infer<typeof keyRecord>;

/** The record in a KV value, or undefined when the value is not one. */
export function parseKeyRecord(value: string): KeyRecord | undefined {
  try {
    return keyRecord.safeParse(JSON.parse(value)).data;
  } catch {
    return undefined;
  }
}

/** The name under which KV holds a key's record: `key:` and the SHA-256 of the whole key in hexadecimal. */
export async function keyRecordName(key: string): Promise<string> {
  return `key:${await sha256(key)}`;
}
