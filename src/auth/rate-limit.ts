import { ApiError, serviceUnavailable } from "../errors.ts";

/**
 * Limits the requests per minute of an API key, counted per location (Workers rate limiting binding).
 *
 * @throws ApiError `rate_limited`, or `service_unavailable` when the limiter cannot respond.
 */
export async function limitRate(limiter: RateLimit, keyId: string): Promise<void> {
  let outcome: RateLimitOutcome;
  try {
    outcome = await limiter.limit({ key: keyId });
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
  if (!outcome.success) throw new ApiError("rate_limited", "Too many requests with this API key. Slow down.");
}
