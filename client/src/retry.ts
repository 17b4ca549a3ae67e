import type { PetStoreError } from "./error.ts";
import { isBrowser } from "./options.ts";

/** When the client repeats a request. Times are in milliseconds. */
export interface RetryPolicy {
  /** How often a request is sent at most, the first time included. 6 unless given. */
  attempts: number;
  /** The upper bound of the first pause. It doubles with each attempt. 250 unless given. */
  firstPause: number;
  /** The upper bound of every pause that the service did not ask for. 20,000 unless given. */
  longestPause: number;
  /** The longest `Retry-After` that a request waits for. It fails at once after a longer one. 10,000 in a page, and no limit elsewhere. */
  longestRetryAfter: number;
  /** The time for all attempts and pauses of one request. 180,000 unless given. */
  totalTime: number;
}

/** A person in front of a page should not wait without a word for the minute of a rate limit. */
export const defaultPolicy = (): RetryPolicy => ({
  attempts: 6,
  firstPause: 250,
  longestPause: 20_000,
  longestRetryAfter: isBrowser() ? 10_000 : Infinity,
  totalTime: 180_000,
});

/**
 * Whether a failure may pass, and what it says about the request:
 *
 * - `refused`: the service did not run it.
 * - `lost`: the service may have run it.
 * - `final`: another attempt fails in the same way.
 */
export function faultOf({ code, status }: PetStoreError): "refused" | "lost" | "final" {
  if (status === 429 || code === "request_timeout") return "refused";
  if (code === "network" || code === "timeout" || status === 503) return "lost";
  // A proxy failed, or replaced or cut the response.
  return code === "unexpected_response" && /^[25]/.test(String(status)) ? "lost" : "final";
}

/** Milliseconds before the next attempt: by chance, so that clients that failed together do not come back together. */
export function pauseAfter(
  attempt: number,
  retryAfter: number | undefined,
  policy: Pick<RetryPolicy, "firstPause" | "longestPause">,
): number {
  const backoff = Math.random() * Math.min(policy.longestPause, policy.firstPause * 2 ** (attempt - 1));
  // A service that is back at a certain second should not meet all of its clients in that second.
  return (retryAfter ?? 0) * 1000 + backoff;
}
