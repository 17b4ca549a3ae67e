import { parseKeyRecord, type KeyRecord } from "../../src/auth/key-record.ts";
import type { Environment } from "../../src/auth/key-format.ts";
import type { Namespace } from "./namespace.ts";

/** The largest metadata that KV takes with a value, in bytes. */
const MAX_METADATA_BYTES = 1024;

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

/** The key records of one environment. Every method throws what its namespace throws. */
export class KeyStore {
  readonly environment: Environment;
  readonly #namespace: Namespace;

  constructor(environment: Environment, namespace: Namespace) {
    this.environment = environment;
    this.#namespace = namespace;
  }

  async put({ name, record }: StoredKey): Promise<void> {
    // The whole record once more as metadata, which a listing returns: one request instead of one for each key.
    const json = JSON.stringify(record);
    if (Buffer.byteLength(json) > MAX_METADATA_BYTES) throw new Error("The name of the key is too long.");
    await this.#namespace.put(name, json, record);
  }

  /** The record behind a name as the service sees it, or undefined when there is none, or none that lets anybody in. */
  async get(name: string): Promise<KeyRecord | undefined> {
    const value = await this.#namespace.get(name);
    return value === undefined ? undefined : parseKeyRecord(value);
  }

  /** Every key that was ever created, the oldest first. */
  async list(): Promise<ListedKey[]> {
    const keys: ListedKey[] = [];
    for (const { name, metadata } of await this.#namespace.list("key:")) {
      // An entry that something else wrote has no metadata of ours; the value is what counts.
      const record = metadata === undefined ? undefined : parseKeyRecord(JSON.stringify(metadata));
      keys.push({ name, record: record ?? (await this.get(name)) });
    }
    return keys.toSorted((a, b) => (a.record?.createdAt ?? "").localeCompare(b.record?.createdAt ?? ""));
  }
}
