import { parseKeyRecord, type KeyRecord } from "../../src/auth/key-record.ts";
import type { Environment } from "../../src/auth/key-format.ts";
import type { Entry, Namespace } from "./namespace.ts";

/** The longest record that a listing has, in bytes of JSON: the largest metadata of a value (KV documentation, Limits). */
export const MAX_RECORD_BYTES = 1_024;

/** A key record with its name in KV, the hash of the key. */
export interface StoredKey {
  name: string;
  record: KeyRecord;
}

/** `record` is undefined where the service could make nothing of it. */
export interface ListedKey {
  name: string;
  record: KeyRecord | undefined;
}

/** Whether KV takes the record as metadata. */
export function isListable(record: KeyRecord): boolean {
  return Buffer.byteLength(JSON.stringify(record)) <= MAX_RECORD_BYTES;
}

/** The key records of one environment. Every method throws what its namespace throws. */
export class KeyStore {
  readonly environment: Environment;
  readonly namespace: Namespace;

  constructor(environment: Environment, namespace: Namespace) {
    this.environment = environment;
    this.namespace = namespace;
  }

  async put({ name, record }: StoredKey): Promise<void> {
    await this.namespace.put(name, entryOf(record));
  }

  /** @param change reads the record anew, and returns the next one. It is called right before each attempt to write. */
  async update(name: string, change: () => Promise<KeyRecord>): Promise<void> {
    await this.namespace.put(name, async () => entryOf(await change()));
  }

  /**
   * The record behind a name, or undefined when there is none, or none that lets anybody in. KV is eventually consistent (its documentation,
   * How KV works), so the record has the changes of both the value and the listing.
   *
   * @param listing a fresh one.
   */
  async get(name: string, listing: readonly ListedKey[]): Promise<KeyRecord | undefined> {
    const record = await this.getValue(name);
    const listed = listing.find((key) => key.name === name)?.record;
    return record && listed ? joinRecords(record, listed) : record;
  }

  /** The same, from the value alone. It is what the service reads. */
  async getValue(name: string): Promise<KeyRecord | undefined> {
    const value = await this.namespace.get(name);
    return value === undefined ? undefined : parseKeyRecord(value);
  }

  /** Every key that was ever created, the oldest first. */
  async list(): Promise<ListedKey[]> {
    const keys: ListedKey[] = [];
    for (const { name, metadata } of await this.namespace.list("key:")) {
      // An entry without metadata of ours; the value is what counts.
      const record = metadata === undefined ? undefined : parseKeyRecord(JSON.stringify(metadata));
      keys.push({ name, record: record ?? (await this.getValue(name)) });
    }
    return keys.toSorted((a, b) => (a.record?.createdAt ?? "").localeCompare(b.record?.createdAt ?? ""));
  }
}

/** What KV has of a record. */
function entryOf(record: KeyRecord): Entry {
  // The whole record once more as metadata, which a listing returns: one request instead of one for each key. A record that
  // something else wrote may be too long for that. It must be possible to revoke it all the same.
  return { value: JSON.stringify(record), metadata: isListable(record) ? record : undefined };
}

/**
 * One record from two reads of it. Nothing that a command adds to a record is ever taken back: a revocation, an earlier end, a
 * successor. So a read that lacks one of them is older.
 */
export function joinRecords(left: KeyRecord, right: KeyRecord): KeyRecord {
  const revokedAt = earliest(left.revokedAt, right.revokedAt);
  const expiresAt = earliest(left.expiresAt, right.expiresAt);
  const givenExpiresAt = left.givenExpiresAt === undefined ? right.givenExpiresAt : left.givenExpiresAt;
  const replacedBy = new Set([...(left.replacedBy ?? []), ...(right.replacedBy ?? [])]);
  return {
    ...left,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(givenExpiresAt !== undefined && { givenExpiresAt }),
    ...(replacedBy.size > 0 && { replacedBy: [...replacedBy] }),
    ...(revokedAt !== undefined && { revokedAt }),
  };
}

function earliest(left: string | undefined, right: string | undefined): string | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return Date.parse(right) < Date.parse(left) ? right : left;
}
