import { serviceUnavailable } from "../errors.ts";
import { type Environment, isWellFormedKey } from "./key-format.ts";
import { type KeyRecord, keyRecordName, parseKeyRecord } from "./key-record.ts";

/** Seconds for which a location caches a KV value, the least that KV allows. It caches misses as well. */
const KV_CACHE_TTL_SECONDS = 30;

/** Seconds for which an isolate caches a record, so that a busy key does not cost a KV read with each request. */
const ISOLATE_CACHE_SECONDS = 30;
/** Records that an isolate keeps, of about half a kilobyte each. */
const ISOLATE_CACHE_SIZE = 1_000;

/** What KV held under a name: a record, or "corrupt". */
interface CacheEntry {
  record: KeyRecord | "corrupt";
  readAt: number;
}

/**
 * The records that were in force when KV was read, and those that were corrupt, by the API key, the oldest first. By the key
 * rather than by its hash: a busy key would be hashed with every request, and the request holds the key in memory anyway. Only operators write records, so a flood of bad keys neither fills it nor pushes a good one out.
 */
const cache = new Map<string, CacheEntry>();

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
  if (!isWellFormedKey(key, environment)) return undefined;
  const cached = cache.get(key);
  if (cached !== undefined && isFresh(cached.readAt)) return inForce(cached.record);

  const readAt = Date.now();
  const name = await keyRecordName(key);
  const value = await readValue(store, name);
  cache.delete(key);
  if (value === null) return undefined;
  const record = parseKeyRecord(value) ?? "corrupt";
  if (record === "corrupt") onCorrupt(name);
  const good = inForce(record);
  if (good !== undefined || record === "corrupt") keep(key, { record, readAt });
  return good;
}

function inForce(record: CacheEntry["record"]): KeyRecord | undefined {
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

/** A clock that was set back must not make a record last. */
function isFresh(readAt: number): boolean {
  const age = Date.now() - readAt;
  return age >= 0 && age < ISOLATE_CACHE_SECONDS * 1_000;
}

function keep(key: string, entry: CacheEntry): void {
  if (cache.size >= ISOLATE_CACHE_SIZE) {
    const [oldest] = cache.keys();
    if (oldest !== undefined) cache.delete(oldest);
  }
  cache.set(key, entry);
}
