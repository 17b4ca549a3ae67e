import * as z from "zod/mini";

/** What a key may do. A route names the one it needs. */
export type Scope = "pets:read" | "pets:write";

const timestamp = z.iso.datetime();

const keyRecord = z.object({
  /** Names the key in logs and for operators; no secret. */
  id: z.string().check(z.minLength(1)),
  name: z.string(),
  /** Texts, not `Scope`s: a scope that this version does not know grants nothing, and takes nothing away. */
  scopes: z.array(z.string()),
  createdAt: timestamp,
  expiresAt: z.optional(timestamp),
  revokedAt: z.optional(timestamp),
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

// A table, because operators' scripts need the name as well, and Node 24 has no Uint8Array.prototype.toHex.
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The name under which KV holds a key's record: `key:` and the SHA-256 of the whole key in hexadecimal. */
export async function keyRecordName(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  let name = "key:";
  for (const byte of new Uint8Array(digest)) name += HEX[byte];
  return name;
}
