import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { findKey, type Status, statusOf } from "./operations.ts";
import type { KeyStore, ListedKey } from "./store.ts";

/** Another key by its id. "unknown" is one that the listing does not have, or not yet. */
export interface RelatedKey {
  id: string;
  status: Status | "unknown";
}

/** A key with the keys that rotations connect it to. */
export interface Inspection {
  record: KeyRecord;
  status: Status;
  /** The key that this one replaces. Undefined for a key that no rotation created. */
  predecessor: RelatedKey | undefined;
  /** The keys that replace this one, the oldest first. */
  successors: RelatedKey[];
}

/** @throws Error when there is no such key, and when the store fails. */
export async function inspectKey(store: KeyStore, id: string): Promise<Inspection> {
  const listing = await store.list();
  const { record } = await findKey(store, listing, id);
  return relate(store, listing, record);
}

/**
 * Finds whose API key it is.
 *
 * @throws Error for a key without a record, and when the store fails. It does not repeat the key.
 */
export async function inspectSecret(store: KeyStore, key: string): Promise<Inspection> {
  const listing = await store.list();
  const record = await store.get(await keyRecordName(key), listing);
  if (record === undefined) throw new Error(`${store.environment} has no valid record of this key: nobody can use it.`);
  return relate(store, listing, record);
}

/** The keys that work now, by the clock of the storage, and end within so many milliseconds, the first to end first. */
export function endingWithin(keys: readonly ListedKey[], duration: number, now: number): ListedKey[] {
  const limit = now + duration;
  return keys
    .filter(({ record }) => record !== undefined && statusOf(record, now) === "active" && endOf(record) <= limit)
    .toSorted((a, b) => endOf(a.record) - endOf(b.record));
}

/** Milliseconds since the epoch. */
function endOf(record: KeyRecord | undefined): number {
  return record?.expiresAt === undefined ? Infinity : Date.parse(record.expiresAt);
}

/** A key of a listing, with those that rotations connect it to. */
export function relate(store: KeyStore, listing: readonly ListedKey[], record: KeyRecord): Inspection {
  const now = store.namespace.now();
  const related = (id: string): RelatedKey => {
    const other = listing.find((key) => key.record?.id === id)?.record;
    return { id, status: other === undefined ? "unknown" : statusOf(other, now) };
  };
  const predecessor = listing.find((key) => key.record?.replacedBy?.includes(record.id))?.record;
  return {
    record,
    status: statusOf(record, now),
    predecessor: predecessor && related(predecessor.id),
    successors: (record.replacedBy ?? []).map(related),
  };
}
