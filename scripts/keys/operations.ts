import { generateKey, randomBase62 } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { oneLine } from "./one-line.ts";
import type { KeyStore, StoredKey } from "./store.ts";

/** A key that was just made, and the record that the store has of it. */
export interface NewKey {
  key: string;
  stored: StoredKey;
}

/** A rotation whose new key works already, and whose old key is still to be given its end. */
export interface Rotation {
  successor: NewKey;
  old: StoredKey;
}

/** @throws Error that says what may have been left behind, when the store fails. */
export async function createKey(
  store: KeyStore,
  { name, scopes, expires }: { name: string; scopes: readonly string[]; expires?: Date | undefined },
): Promise<NewKey> {
  const key = generateKey(store.environment);
  const record: KeyRecord = {
    id: `key_${randomBase62(12)}`,
    name,
    scopes: [...scopes],
    createdAt: new Date().toISOString(),
    ...(expires === undefined ? {} : { expiresAt: expires.toISOString() }),
  };
  const stored = { name: await keyRecordName(key), record };
  try {
    await store.put(stored);
  } catch (error) {
    // The response to a write that succeeded may be lost.
    throw new Error(`${oneLine(error)} Nobody has seen ${record.id}; if keys list shows it, revoke it.`, {
      cause: error,
    });
  }
  return { key, stored };
}

/**
 * Ends a key for good. Again changes nothing.
 *
 * @throws Error when there is no such key, when somebody else changes it at the same time, and when the store fails.
 */
export async function revokeKey(store: KeyStore, id: string): Promise<KeyRecord> {
  const { name, record } = await find(store, id);
  const revoked = { ...record, revokedAt: record.revokedAt ?? new Date().toISOString() };
  await store.put({ name, record: revoked });
  // A rotation that read the record before and wrote it after would have taken the revocation back.
  const stored = await store.get(name);
  if (stored?.revokedAt === undefined) throw new Error(`${id} is being changed by somebody else. Revoke it again.`);
  return revoked;
}

/**
 * The first half of a rotation: creates a key with the name and scopes of another one.
 *
 * @param overlap milliseconds for which both work.
 * @param expires when the new key ends. As far from now as the old key's end from its creation, when undefined.
 * @throws Error when there is no such key, when it works no more, and when the store fails.
 */
export async function issueSuccessor(
  store: KeyStore,
  id: string,
  { overlap, expires }: { overlap: number; expires?: Date | undefined },
): Promise<Rotation> {
  const { name, record } = await find(store, id);
  if (statusOf(record) !== "active") throw new Error(`${id} is ${statusOf(record)}; create a new key instead.`);
  const end = new Date(Date.now() + overlap).toISOString();
  const successor = await createKey(store, { ...record, expires: expires ?? sameLifetime(record) });
  const { expiresAt = end } = record;
  return { successor, old: { name, record: { ...record, expiresAt: expiresAt < end ? expiresAt : end } } };
}

/**
 * The second half of a rotation: gives the old key its end.
 *
 * @throws Error when the store fails.
 */
export async function endPredecessor(store: KeyStore, { old }: Rotation): Promise<void> {
  try {
    if ((await store.get(old.name))?.revokedAt !== undefined) return;
    await store.put(old);
  } catch (error) {
    throw new Error(
      `The new key works, but whether ${old.record.id} ends is unknown; look at keys list. ${oneLine(error)}`,
      { cause: error },
    );
  }
}

export function statusOf({ expiresAt, revokedAt }: KeyRecord): "active" | "expired" | "revoked" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now() ? "expired" : "active";
}

/** An end as far from now as the old key's was from its beginning, if it had one. */
function sameLifetime({ createdAt, expiresAt }: KeyRecord): Date | undefined {
  return expiresAt === undefined ? undefined : new Date(Date.now() + Date.parse(expiresAt) - Date.parse(createdAt));
}

async function find(store: KeyStore, id: string): Promise<StoredKey> {
  const found = (await store.list()).find(({ record }) => record?.id === id);
  // The listing may lag behind, and its copy of the record is not what the service reads.
  const record = found && (await store.get(found.name));
  if (found === undefined || record === undefined)
    throw new Error(`There is no key ${id} in ${store.environment}. keys list shows those there are.`);
  return { name: found.name, record };
}
