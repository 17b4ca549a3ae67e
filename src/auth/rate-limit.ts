import type { ApiKey } from "../env.ts";
import { ApiError, serviceUnavailable } from "../errors.ts";

type Limiters = Pick<Env, "RATE_LIMITER" | "CUSTOMER_RATE_LIMITER" | "TOKEN_RATE_LIMITER">;

/**
 * Limits the requests per minute, counted per location (Workers rate limiting binding): those with an API key itself, those of each of its
 * customers, and those of all of them together. So the customers of a key leave its own requests alone.
 *
 * @param owner of the request: the key, or the key and the customer.
 * @throws ApiError `rate_limited`, or `service_unavailable` when a limiter cannot respond.
 */
export async function limitRate(limiters: Limiters, { id, token }: ApiKey, owner: string): Promise<void> {
  if (token === undefined)
    return await limit(limiters.RATE_LIMITER, owner, "Too many requests with this API key. Slow down.");
  await limit(limiters.CUSTOMER_RATE_LIMITER, owner, "Too many requests of this customer. Slow down.");
  // Second: what the first refuses must not use up what the other customers share.
  await limit(limiters.TOKEN_RATE_LIMITER, id, "Too many requests with the tokens of this API key. Slow down.");
}

async function limit(limiter: RateLimit, key: string, message: string): Promise<void> {
  let outcome: RateLimitOutcome;
  try {
    outcome = await limiter.limit({ key });
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
  if (!outcome.success) throw new ApiError("rate_limited", message);
}

/** Each of these resources in one request counts like a request. */
export const RESOURCES_OF_A_REQUEST = 10;

/**
 * Counts a request for several resources, which counted once when it came: once more for each ten resources begun after the first ten.
 *
 * @throws ApiError as `limitRate`.
 */
export async function limitWork(limiters: Limiters, key: ApiKey, owner: string, resources: number): Promise<void> {
  const more = Math.ceil(resources / RESOURCES_OF_A_REQUEST) - 1;
  await Promise.all(Array.from({ length: more }, () => limitRate(limiters, key, owner)));
}

/** Milliseconds in which a budget fills. */
export const BUDGET_MILLISECONDS = 10 * 60_000;
/** The budget of an owner in MiB, unless `STORED_MIB` sets it. */
const DEFAULT_MIB = 64;
const MIB = 2 ** 20;
/** Owners that an isolate remembers. The one that has not stored for longest is forgotten first. */
export const MAX_OWNERS = 10_000;
/** Bytes beside the body in the row of an event, and in that of an `Idempotency-Key` with its index (docs/capacity.md). */
const EVENT_BYTES = 60;
const ENTRY_BYTES = 220;
const OTHER_THAN_ASCII = /[^\0-\x7f]/;

/** `STORED_MIB`, or undefined for anything but a whole number from 1. */
export function parseStoredMib(setting: unknown): number | undefined {
  return /^[1-9]\d{0,5}$/.test(String(setting)) ? Number(setting) : undefined;
}

/** The setting as parsed: an isolate parses it once. */
let known: { setting: unknown; budget: number } = { setting: undefined, budget: DEFAULT_MIB * MIB };

/** The budget in bytes. A mistake in the setting must not leave the storage without one. */
function budgetOf(setting: unknown): number {
  if (known.setting !== setting) known = { setting, budget: (parseStoredMib(setting) ?? DEFAULT_MIB) * MIB };
  return known.budget;
}

/** What the changes of an owner have stored, less what its budget has filled since. */
interface Stored {
  bytes: number;
  /** In milliseconds since the epoch. */
  at: number;
}

/**
 * The bytes that changes store in events and in entries of keys, as this isolate has seen them. Other isolates of the location count
 * their own: the order of magnitude matters, and a binding counts requests only.
 */
const storedBy = new Map<string, Stored>();

function leftOf({ bytes, at }: Stored, budget: number, now: number): number {
  // A time in the future is from before the clock was set back.
  return at > now ? 0 : Math.max(0, bytes - ((now - at) / BUDGET_MILLISECONDS) * budget);
}

/**
 * Refuses a change of an owner that has used up its budget of bytes. The budget fills evenly, so that the wait that `Retry-After` names
 * makes room.
 *
 * @param setting `STORED_MIB`
 * @throws ApiError `rate_limited`
 */
export function refuseOverBudget(owner: string, setting: unknown): void {
  const stored = storedBy.get(owner);
  const budget = budgetOf(setting);
  if (stored === undefined || stored.bytes < budget || leftOf(stored, budget, Date.now()) < budget) return;
  throw new ApiError("rate_limited", "The changes of this API key or customer have stored too much. Slow down.");
}

/**
 * Takes what a change stored from the budget of its owner. The event of another row that changed too, as the animal of an order, is left
 * out: at the rate limit these are 20 MiB in ten minutes at most.
 *
 * @param setting `STORED_MIB`
 * @param response the bodies of the resources, which are those of the events. That of a removal is empty.
 * @param hasEntry whether an `Idempotency-Key` keeps the response.
 */
export function spendBudget(
  owner: string,
  setting: unknown,
  response: string,
  resources: number,
  hasEntry: boolean,
): void {
  // Most responses are ASCII, which needs no copy.
  const length = OTHER_THAN_ASCII.test(response) ? new TextEncoder().encode(response).length : response.length;
  const bytes = resources * EVENT_BYTES + length + (hasEntry ? ENTRY_BYTES + length : 0);
  const now = Date.now();
  const stored = storedBy.get(owner);
  const [oldest] = stored === undefined && storedBy.size >= MAX_OWNERS ? storedBy.keys() : [];
  storedBy.delete(oldest ?? owner);
  storedBy.set(owner, { bytes: bytes + (stored === undefined ? 0 : leftOf(stored, budgetOf(setting), now)), at: now });
}
