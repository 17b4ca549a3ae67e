import { serviceUnavailable } from "../errors.ts";
import { type Environment, isWellFormedKey } from "./key-format.ts";
import { type KeyRecord, keyRecordName, parseKeyRecord } from "./key-record.ts";

/** Seconds that a location may answer from its own copy of a KV value, the least that KV allows. */
const KV_CACHE_TTL_SECONDS = 30;

/**
 * The record of a good key, or undefined: not of our form, of another environment, unknown, revoked or expired.
 *
 * @param onCorrupt called with the name of a KV entry that is not a key record; it lets nobody in.
 * @throws ApiError `service_unavailable` when KV cannot answer.
 */
export async function lookUpKey(
  store: KVNamespace,
  environment: Environment,
  key: string,
  onCorrupt: (name: string) => void,
): Promise<KeyRecord | undefined> {
  if (!isWellFormedKey(key, environment)) return undefined;
  const name = await keyRecordName(key);
  const value = await readValue(store, name);
  if (value === null) return undefined;

  const record = parseKeyRecord(value);
  if (record === undefined) {
    onCorrupt(name);
    return undefined;
  }
  const expired = record.expiresAt !== undefined && Date.parse(record.expiresAt) <= Date.now();
  return expired || record.revokedAt !== undefined ? undefined : record;
}

async function readValue(store: KVNamespace, name: string): Promise<string | null> {
  try {
    // As text: reading JSON would throw for a corrupt record, which is no outage.
    return await store.get(name, { type: "text", cacheTtl: KV_CACHE_TTL_SECONDS });
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
}
