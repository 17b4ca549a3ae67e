import { afterFailure, afterPause, afterSuccess, type Health } from "./health.ts";
import type { Waiting } from "./queue.ts";
import { isSuccess, MAX_ATTEMPTS, nextAttempt, type Outcome } from "./schedule.ts";

/** What an attempt means. */
export interface Settled {
  row: Waiting;
  status: "delivered" | "pending" | "failed";
  health: Health;
  /** Until when the receiver wants no event of this resource. 0 unless it said so. */
  pausedUntil: number;
}

/** What an attempt is for. */
export interface Kind {
  /** To ask whether an endpoint works that fails. */
  isProbe: boolean;
  /** Whether it counts for its event. One before the event's own time does not: a probe, or what the end of an outage makes due. */
  counts: boolean;
}

/** What an attempt that has ended means for its delivery, and for the endpoint. */
export function settle(
  row: Waiting,
  outcome: Outcome,
  health: Health,
  now: number,
  { isProbe, counts }: Kind,
): Settled {
  const { response = null, error = null } = outcome;
  const attempted = { ...row, lastAttemptAt: now, response, error };
  if (isSuccess(outcome)) {
    const attempts = Math.min(row.attempts + 1, MAX_ATTEMPTS);
    return { row: { ...attempted, attempts }, status: "delivered", health: afterSuccess(health, now), pausedUntil: 0 };
  }
  const pausedUntil = outcome.retryAfter > 0 ? now + outcome.retryAfter : 0;
  const isPause = response === 429 || pausedUntil > 0;
  const attempts = row.attempts + Number(counts);
  const hasFailed = attempts >= MAX_ATTEMPTS;
  const nextAttemptAt = !counts || hasFailed ? row.nextAttemptAt : nextAttempt(attempts, now, outcome.retryAfter);
  return {
    row: { ...attempted, attempts, refusedSince: row.refusedSince ?? now, nextAttemptAt },
    status: hasFailed ? "failed" : "pending",
    health: isPause ? afterPause(health, row.resource, now, pausedUntil, isProbe) : afterFailure(health, now, isProbe),
    pausedUntil,
  };
}
