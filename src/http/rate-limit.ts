import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError, serviceUnavailable } from "../errors.ts";

/** Seconds of the rate limiter's window in wrangler.toml: after that long, there is room again. */
const PERIOD_SECONDS = 60;

/**
 * Keeps each API key within its requests a minute, counted per location (Workers rate limiting binding).
 *
 * @throws ApiError `rate_limited`, or `service_unavailable` when the limiter cannot answer.
 */
export async function limitRate(c: Context<AppEnv>): Promise<void> {
  let outcome: RateLimitOutcome;
  try {
    outcome = await c.env.RATE_LIMITER.limit({ key: c.get("apiKey").id });
  } catch (cause) {
    throw serviceUnavailable(cause);
  }
  if (outcome.success) return;
  throw new ApiError("rate_limited", "Too many requests with this API key. Slow down.", {
    headers: { "Retry-After": String(PERIOD_SECONDS) },
  });
}
