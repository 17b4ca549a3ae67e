const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Milliseconds before each attempt of an event. */
const DELAYS = [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE].concat([2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR));
export const MAX_ATTEMPTS = DELAYS.length;
/** Each delay is longer or shorter by up to this share, so that attempts spread out. */
const JITTER = 0.1;
/** Milliseconds before each probe of an endpoint that fails. The last one repeats. */
const PROBE_DELAYS = [5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE];

/** How an attempt ended. */
export interface Outcome {
  /** The status, if there was a response. */
  response: number | undefined;
  error: "timeout" | "connection" | undefined;
  /** Milliseconds for which the receiver asked not to be called again. */
  retryAfter: number;
}

export const isSuccess = ({ response = 0 }: Pick<Outcome, "response">): boolean => response >= 200 && response <= 299;

/**
 * When an event is attempted again, in milliseconds since the epoch.
 *
 * @param attempts that failed, from 1 to one less than `MAX_ATTEMPTS`.
 */
export function nextAttempt(attempts: number, now: number, retryAfter: number): number {
  const delay = (DELAYS[attempts] as number) * (1 + JITTER * (2 * Math.random() - 1));
  return now + Math.max(Math.round(delay), retryAfter);
}

/**
 * Milliseconds from an attempt to the next probe of an endpoint that fails.
 *
 * @param probes that failed since it fails.
 */
export const probeDelay = (probes: number): number => PROBE_DELAYS[Math.min(probes, PROBE_DELAYS.length - 1)] as number;
