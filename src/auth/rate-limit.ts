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
    return limit(limiters.RATE_LIMITER, owner, "Too many requests with this API key. Slow down.");
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
