import { serviceUnavailable } from "../errors.ts";
import { IsolateCache } from "../isolate-cache.ts";
import { type Environment, isKeyOf, isWellFormedKey } from "./key-format.ts";
import { type KeyRecord, keyRecordName, parseKeyRecord, recordNameOfHash } from "./key-record.ts";

/** Seconds for which a location caches a KV value: the minimum of KV. It caches misses as well (KV documentation, Read key-value pairs). */
export const KV_CACHE_TTL_SECONDS = 30;

/** Seconds for which an isolate caches a record, so that a busy key does not cost a KV read per request. */
export const RECORD_SECONDS = 30;
/**
 * Seconds for which an isolate caches that a key has no good record, so that a client with a revoked key does not cost a KV read
 * per request either. Short, because a client may try a key just before it is created.
 */
export const REFUSAL_SECONDS = 5;

/** Maximum number of keys in each of the two caches of an isolate. */
export const MAX_CACHED_KEYS = 1_000;

/** The result of a KV read: a record, or "corrupt". */
type Value = KeyRecord | "corrupt";

/**
 * By API key, or for its tokens by the name of the record: the records that were in force when KV was read, and the corrupt ones. The key
 * itself is the index, because hashing it would cost time on every request. The request holds the key in memory anyway.
 */
const records = new IsolateCache<Value>(MAX_CACHED_KEYS);
/** Keys without a good record. A separate cache, so that a flood of bad keys cannot evict a good one. */
const refusals = new IsolateCache<true>(MAX_CACHED_KEYS);

/**
 * Returns the record of a good key. Returns undefined for a key that is malformed, of another environment, unknown, revoked or
 * expired.
 *
 * @param onCorrupt called with the name of a KV entry that is not a key record. Its key is refused.
 * @throws ApiError `service_unavailable` when KV cannot respond.
 */
export async function lookUpKey(
  store: KVNamespace,
  environment: Environment,
  key: string,
  onCorrupt: (name: string) => void,
): Promise<KeyRecord | undefined> {
  if (!isKeyOf(environment, key)) return undefined;
  // Before the checksum, which was valid when the key was cached.
  const cached = records.get(key, RECORD_SECONDS * 1_000);
  if (cached !== undefined) return inForce(cached.value);
  if (refusals.get(key, REFUSAL_SECONDS * 1_000) !== undefined || !isWellFormedKey(key, environment)) return undefined;
  return readRecord(store, key, keyRecordName(key), onCorrupt);
}

/**
 * The same for a key that is known by its hash, because it created a token.
 *
 * @param hash its SHA-256, in hexadecimal.
 */
export async function lookUpKeyOfHash(
  store: KVNamespace,
  hash: string,
  onCorrupt: (name: string) => void,
): Promise<KeyRecord | undefined> {
  const name = recordNameOfHash(hash);
  const cached = records.get(name, RECORD_SECONDS * 1_000);
  if (cached !== undefined) return inForce(cached.value);
  if (refusals.get(name, REFUSAL_SECONDS * 1_000) !== undefined) return undefined;
  return readRecord(store, name, Promise.resolve(name), onCorrupt);
}

/** @param index of the record in the caches. */
async function readRecord(
  store: KVNamespace,
  index: string,
  named: Promise<string>,
  onCorrupt: (name: string) => void,
): Promise<KeyRecord | undefined> {
  const readAt = Date.now();
  const name = await named;
  const value = await readValue(store, name);
  // A slow read does not bring back what a later one refused.
  const refused = refusals.get(index, Infinity);
  if (refused !== undefined && refused.readAt > readAt) return undefined;
  const record = value === null ? undefined : (parseKeyRecord(value) ?? "corrupt");
  if (record === "corrupt") onCorrupt(name);
  const good = record && inForce(record);
  if (record !== undefined && (good !== undefined || record === "corrupt")) {
    records.set(index, record, readAt);
  } else {
    records.delete(index);
    refusals.set(index, true, readAt);
  }
  return good;
}

function inForce(record: Value): KeyRecord | undefined {
  return record !== "corrupt" && isInForce(record) ? record : undefined;
}

async function readValue(store: KVNamespace, name: string): Promise<string | null> {
  try {
    // As text, because reading JSON would throw for a corrupt record, and that would look like an outage.
    return await store.get(name, { type: "text", cacheTtl: KV_CACHE_TTL_SECONDS });
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
}

/** Checked on every request, also for a cached record: a key expires to the millisecond. */
function isInForce({ expiresAt, revokedAt }: Pick<KeyRecord, "expiresAt" | "revokedAt">): boolean {
  return revokedAt === undefined && (expiresAt === undefined || Date.now() < Date.parse(expiresAt));
}
