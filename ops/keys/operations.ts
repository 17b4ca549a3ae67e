import { isDeepStrictEqual } from "node:util";
import { generateKey, randomBase62 } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { oneLine } from "../one-line.ts";
import { eventually } from "../release/cloudflare.ts";
import { isListable, joinRecords, type KeyStore, type ListedKey, MAX_RECORD_BYTES, type StoredKey } from "./store.ts";

/** Rotations of one key. Its record names every successor, and has to stay within what KV lists. */
export const MAX_ROTATIONS = 8;

export type Status = "active" | "expired" | "revoked";

/** A key that was just made, and the record that the store has of it. */
export interface NewKey {
  key: string;
  stored: StoredKey;
}

/** When a key ends that is created at a time. Both in milliseconds since the epoch. */
export type Expiry = (createdAt: number) => number;

/**
 * Creates a key and stores its record.
 *
 * @param expires undefined for a key that works for ever.
 * @throws Error when the clock is wrong, when the name is too long for the record, and when the store fails.
 */
export async function createKey(
  store: KeyStore,
  { name, scopes, expires }: { name: string; scopes: readonly string[]; expires?: Expiry | undefined },
): Promise<NewKey> {
  await store.namespace.refuseClock();
  const key = generateKey(store.environment);
  const createdAt = store.namespace.now();
  const record: KeyRecord = {
    id: `key_${randomBase62(12)}`,
    name,
    scopes: [...scopes],
    createdAt: new Date(createdAt).toISOString(),
    ...(expires !== undefined && { expiresAt: new Date(expires(createdAt)).toISOString() }),
  };
  if (!isListable(atItsLongest(record)))
    throw new Error(
      `The name is too long: with all that rotations and a revocation add, a record has at most ${MAX_RECORD_BYTES} bytes.`,
    );
  const stored = { name: await keyRecordName(key), record };
  try {
    await store.put(stored);
  } catch (error) {
    // The response to a write that succeeded may be lost.
    const problem = `${oneLine(error)} Nobody has seen ${record.id}; if keys list shows it, revoke it.`;
    throw new Error(problem, { cause: error });
  }
  return { key, stored };
}

export interface Revocation {
  record: KeyRecord;
  /** Whether KV has shown it already. */
  isShown: boolean;
}

/**
 * Ends a key for good, and waits some seconds until KV shows it. Again changes nothing.
 *
 * @throws Error when there is no such key, and when the store fails.
 */
export async function revokeKey(store: KeyStore, id: string): Promise<Revocation> {
  const { name, record } = await findKey(store, await store.list(), id);
  let revoked: KeyRecord = { ...record, revokedAt: record.revokedAt ?? new Date(store.namespace.now()).toISOString() };
  await store.put({ name, record: revoked });
  const shown = await eventually(async () => {
    const value = await store.getValue(name);
    if (value === undefined || value.revokedAt !== undefined) return value;
    const both = joinRecords(value, revoked);
    // An old value has nothing that the revoked record lacks. A rotation that read the key before, and wrote it after, has.
    if (!isDeepStrictEqual(both, revoked)) {
      revoked = both;
      await store.put({ name, record: revoked });
    }
    return undefined;
  }).catch((error: unknown) => {
    const problem = `The revocation of ${id} is written, but it is unknown whether KV shows it: ${oneLine(error)}`;
    throw new Error(problem, { cause: error });
  });
  return { record: revoked, isShown: shown !== undefined };
}

/**
 * The key of an id, with the changes that its value or the listing shows.
 *
 * @throws Error when there is none, and when the store fails.
 */
export async function findKey(store: KeyStore, listing: readonly ListedKey[], id: string): Promise<StoredKey> {
  const found = listing.find(({ record }) => record?.id === id);
  const record = found && (await store.get(found.name, listing));
  if (found === undefined || record === undefined)
    throw new Error(`There is no key ${id} in ${store.environment}. keys list shows those there are.`);
  return { name: found.name, record };
}

/** @param now by the clock of the storage: that of this machine may be wrong. */
export function statusOf({ expiresAt, revokedAt }: KeyRecord, now: number): Status {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? "expired" : "active";
}

/** The record after as many rotations as are allowed, and a revocation. */
function atItsLongest(record: KeyRecord): KeyRecord {
  const time = record.createdAt;
  const replacedBy = Array.from({ length: MAX_ROTATIONS }, () => record.id);
  return { ...record, expiresAt: time, givenExpiresAt: time, replacedBy, revokedAt: time };
}
