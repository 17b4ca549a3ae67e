import { env } from "cloudflare:workers";
import { type Environment, generateKey } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { CUSTOMER_SCOPES, SCOPES } from "../../src/auth/scopes.ts";
import { type Claims, signToken } from "../../src/auth/token.ts";
import { sha256 } from "../../src/hash/sha256.ts";
import { LOCAL_TOKEN_SECRET } from "../../src/local-api-key.ts";

/** A key with all scopes. Each file of tests has another one. */
export let key: string;

export async function renewKey(): Promise<void> {
  key = await grantKey();
}

/** Stores a new key, by default with all scopes. */
export async function grantKey(record: Partial<KeyRecord> = {}, environment: Environment = "local"): Promise<string> {
  const key = generateKey(environment);
  await storeKey(key, {
    id: crypto.randomUUID(),
    name: "test",
    scopes: [...SCOPES],
    createdAt: "2026-01-01T00:00:00.000Z",
    ...record,
  });
  return key;
}

/** A customer token of a key, by default for a minute, with all scopes and no limit that a test reaches. */
export async function grantToken(
  key: string,
  claims: Partial<Claims> = {},
  secret = LOCAL_TOKEN_SECRET,
  environment: Environment = "local",
): Promise<string> {
  return signToken(secret, environment, {
    keyHash: await sha256(key),
    id: crypto.randomUUID(),
    expiresAt: Math.floor(Date.now() / 1_000) + 60,
    scopes: CUSTOMER_SCOPES,
    customer: "ada",
    maxPlaced: 10,
    ...claims,
  });
}

export async function storeKey(key: string, record: unknown): Promise<void> {
  await env.API_KEYS.put(await keyRecordName(key), typeof record === "string" ? record : JSON.stringify(record));
}
