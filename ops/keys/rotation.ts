import type { KeyRecord } from "../../src/auth/key-record.ts";
import { oneLine } from "../one-line.ts";
import { relate, type RelatedKey } from "./inspection.ts";
import { createKey, type Expiry, findKey, MAX_ROTATIONS, type NewKey } from "./operations.ts";
import { joinRecords, type KeyStore, type StoredKey } from "./store.ts";

/** The last time that ISO 8601 writes with a year of four digits, which is all that a record takes. */
const LAST_TIME = Date.parse("9999-12-31T23:59:59.999Z");

/** A rotation whose new key works already, and whose old key is still to be given its end. */
export interface Rotation {
  successor: NewKey;
  old: StoredKey;
  /** The end of the overlap, in milliseconds since the epoch. The old key may end earlier. */
  overlapEnd: number;
  /** The keys of earlier rotations of the same key. */
  earlierSuccessors: RelatedKey[];
}

/**
 * The first half of a rotation: creates a key with the name and scopes of another one.
 *
 * @param overlap milliseconds for which both work.
 * @param expires when the new key ends. When undefined, it lives as long as the old key was given at its creation.
 * @throws Error when there is no such key, when it works no more or was rotated too often, and when the store fails.
 */
export async function issueSuccessor(
  store: KeyStore,
  id: string,
  { overlap, expires }: { overlap: number; expires?: Expiry },
): Promise<Rotation> {
  const listing = await store.list();
  const old = await findKey(store, listing, id);
  const { record } = old;
  const { status, successors: earlierSuccessors } = relate(store, listing, record);
  if (status !== "active") throw new Error(`${id} is ${status}; create a new key instead.`);
  const { name, scopes, replacedBy = [] } = record;
  if (replacedBy.length >= MAX_ROTATIONS)
    throw new Error(`${id} was rotated ${MAX_ROTATIONS} times. Create a new key instead, and revoke ${id}.`);

  const successor = await createKey(store, { name, scopes, expires: expires ?? sameLife(record) });
  return {
    successor,
    old,
    overlapEnd: Date.parse(successor.stored.record.createdAt) + overlap,
    earlierSuccessors,
  };
}

/**
 * The second half of a rotation: gives the old key its end.
 *
 * @throws Error that says how to go on, when the store fails.
 */
export async function endPredecessor(store: KeyStore, rotation: Rotation): Promise<void> {
  const { old, successor } = rotation;
  try {
    let known = old.record;
    await store.update(old.name, async () => {
      // Read again: a revocation or another rotation since must not be undone.
      const record = await store.get(old.name, await store.list());
      if (record === undefined) throw new Error("Its record is gone.");
      known = joinRecords(record, known);
      return replacedRecord(known, rotation);
    });
  } catch (error) {
    const { expiresAt } = replacedRecord(old.record, rotation);
    throw new Error(
      `The new key ${successor.stored.record.id} works, but it is unknown whether ${old.record.id} ends: ${oneLine(error)} ` +
        `Unless keys list shows that it expires at ${expiresAt}, revoke it once the new key is in use.`,
      { cause: error },
    );
  }
}

/** The record of a key that a rotation replaces. It ends with the overlap, or earlier if it was to end earlier. */
export function replacedRecord(record: KeyRecord, { successor, overlapEnd }: Rotation): KeyRecord {
  const { expiresAt, replacedBy = [] } = record;
  const movesEnd = expiresAt === undefined || overlapEnd < Date.parse(expiresAt);
  return {
    ...record,
    ...(movesEnd && { expiresAt: new Date(overlapEnd).toISOString(), givenExpiresAt: givenEnd(record) }),
    // An attempt whose response was lost may have written it.
    replacedBy: [...new Set([...replacedBy, successor.stored.record.id])],
  };
}

/** The end that a key was given at its creation, whatever rotations made of it. Null when it was to work for ever. */
function givenEnd({ expiresAt, givenExpiresAt }: KeyRecord): string | null {
  return givenExpiresAt === undefined ? (expiresAt ?? null) : givenExpiresAt;
}

/** An end as far from the creation of the key as the given end of `record` is from its own. Undefined when that had none. */
function sameLife(record: KeyRecord): Expiry | undefined {
  const end = givenEnd(record);
  if (end === null) return undefined;
  const life = Date.parse(end) - Date.parse(record.createdAt);
  return (createdAt) => Math.min(createdAt + life, LAST_TIME);
}
