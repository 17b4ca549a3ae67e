import { parseKeyRecord, type KeyRecord } from "../../src/auth/key-record.ts";
import type { Environment } from "../../src/auth/key-format.ts";
import { runWrangler } from "../wrangler.ts";

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

/**
 * The key records of one environment, through wrangler's own `kv key` commands: with whatever login wrangler has, and none of
 * our own. Each method is one or two of its commands, and throws what they say.
 */
export class KeyStore {
  readonly environment: Environment;
  readonly #target: string[];

  /** @param persistTo the folder of the local state, for the local environment. */
  constructor(environment: Environment, persistTo?: string) {
    this.environment = environment;
    this.#target = [
      "--binding=API_KEYS",
      ...(environment === "local"
        ? ["--env=", "--local", ...(persistTo === undefined ? [] : [`--persist-to=${persistTo}`])]
        : // `--preview=false` has wrangler look up the namespace that the first deploy created.
          [`--env=${environment}`, "--remote", "--preview=false"]),
    ];
  }

  async put({ name, record }: StoredKey): Promise<void> {
    // The whole record once more as metadata, which a listing returns: one command instead of one for each key.
    const json = JSON.stringify(record);
    if (Buffer.byteLength(json) > MAX_METADATA_BYTES) throw new Error("The name of the key is too long.");
    await runWrangler(["kv", "key", "put", name, json, `--metadata=${json}`, ...this.#target]);
  }

  /** The record behind a name as the service sees it, or undefined when there is none, or none that lets anybody in. */
  async get(name: string): Promise<KeyRecord | undefined> {
    return parseKeyRecord(await runWrangler(["kv", "key", "get", name, "--text", ...this.#target]));
  }

  /** Every key that was ever created, the oldest first. */
  async list(): Promise<ListedKey[]> {
    const output = await runWrangler(["kv", "key", "list", "--prefix=key:", ...this.#target]);
    const entries: { name: string; metadata?: unknown }[] = JSON.parse(output);
    const keys: ListedKey[] = [];
    for (const { name, metadata } of entries) {
      // An entry that something else wrote has no metadata of ours; the value is what counts.
      const record = metadata === undefined ? undefined : parseKeyRecord(JSON.stringify(metadata));
      keys.push({ name, record: record ?? (await this.get(name)) });
    }
    return keys.toSorted((a, b) => (a.record?.createdAt ?? "").localeCompare(b.record?.createdAt ?? ""));
  }
}
