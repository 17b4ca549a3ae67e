import { env } from "cloudflare:workers";
import { type Environment, generateKey } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { SCOPES } from "../../src/auth/scopes.ts";

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

export async function storeKey(key: string, record: unknown): Promise<void> {
  await env.API_KEYS.put(await keyRecordName(key), typeof record === "string" ? record : JSON.stringify(record));
}
