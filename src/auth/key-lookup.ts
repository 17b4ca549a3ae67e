import { serviceUnavailable } from "../errors.ts";
import { IsolateCache } from "./isolate-cache.ts";
import { type Environment, isKeyOf, isWellFormedKey } from "./key-format.ts";
import { type KeyRecord, keyRecordName, parseKeyRecord } from "./key-record.ts";

/** Seconds for which a location caches a KV value, the least that KV allows. It caches misses as well. */
export const KV_CACHE_TTL_SECONDS = 30;

/** Seconds for which an isolate caches a record, so that a busy key does not cost a KV read with each request. */
export const RECORD_SECONDS = 30;
/**
 * Seconds for which an isolate caches that a key has no good record, so that a client that goes on with a revoked key does not cost
 * a KV read with each request either. Short, because a key may be tried just before it is created.
 */
export const REFUSAL_SECONDS = 5;

/** What KV held under a name: a record, or "corrupt". */
type Value = KeyRecord | "corrupt";

/**
 * The records that were in force when KV was read, and those that were corrupt, by the API key. By the key rather than by its
 * hash: a busy key would be hashed with every request, and the request holds the key in memory anyway.
 */
const records = new IsolateCache<Value>(RECORD_SECONDS);
/** Keys without a good record. Apart, so that a flood of bad keys pushes no good one out: only operators write records. */
const refusals = new IsolateCache<true>(REFUSAL_SECONDS);

/**
 * The record of a good key, or undefined: not of our form, of another environment, unknown, revoked or expired.
 *
 * @param onCorrupt called with the name of a KV entry that is not a key record; it lets nobody in.
 * @throws ApiError `service_unavailable` when KV cannot respond.
 */
export async function lookUpKey(
  store: KVNamespace,
  environment: Environment,
  key: string,
  onCorrupt: (name: string) => void,
): Promise<KeyRecord | undefined> {
  if (!isKeyOf(environment, key)) return undefined;
  // Before the checksum: it held when the key was cached.
  const cached = records.get(key);
  if (cached !== undefined) return inForce(cached);
  if (refusals.get(key) || !isWellFormedKey(key, environment)) return undefined;

  const readAt = Date.now();
  const name = await keyRecordName(key);
  const value = await readValue(store, name);
  const record = value === null ? undefined : (parseKeyRecord(value) ?? "corrupt");
  if (record === "corrupt") onCorrupt(name);
  const good = record && inForce(record);
  if (record !== undefined && (good !== undefined || record === "corrupt")) {
    records.set(key, record, readAt);
  } else {
    records.delete(key);
    refusals.set(key, true, readAt);
  }
  return good;
}

function inForce(record: Value): KeyRecord | undefined {
  return record !== "corrupt" && isInForce(record) ? record : undefined;
}

async function readValue(store: KVNamespace, name: string): Promise<string | null> {
  try {
    // As text: reading JSON would throw for a corrupt record, which is no outage.
    return await store.get(name, { type: "text", cacheTtl: KV_CACHE_TTL_SECONDS });
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
}

/** Asked on every request, cached or not: a key ends in the millisecond that it expires. */
function isInForce({ expiresAt, revokedAt }: Pick<KeyRecord, "expiresAt" | "revokedAt">): boolean {
  return revokedAt === undefined && (expiresAt === undefined || Date.now() < Date.parse(expiresAt));
}
