import type { Mode } from "./state.ts";

const MINUTE = 60_000;

/** Attempts at one host, over all its webhooks: at once, in a minute, and in a minute as long as it has taken nothing. */
const HOST_AT_ONCE = 12;
const HOST_A_MINUTE = 36_000;
const NEW_HOST_A_MINUTE = 60;
/** The part of a minute's attempts that may start at once. */
const BURST = 1 / 6;
/** Milliseconds between the starts of two attempts at a host that has taken nothing, while one of them runs. */
const BETWEEN_STARTS = 500;
/** Milliseconds after which the oldest attempt at such a host gives way, when all attempts run that may. */
const GIVES_WAY_AFTER = 2_500;

/** The part of an address that names its host. */
export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : "");

/**
 * What a webhook may use of its host: attempts at once, and in a minute, and milliseconds between two starts, and until the oldest attempt
 * gives way.
 *
 * @param webhooks that are enabled and have this host.
 * @param isProven whether the receiver took a delivery at this host.
 */
export function shareOf(concurrency: number, webhooks: number, isProven: boolean, mode: Mode) {
  const peers = Math.max(webhooks, 1);
  const isFailing = mode === "failing";
  return {
    atOnce: isFailing ? 1 : Math.min(concurrency, Math.max(Math.floor(HOST_AT_ONCE / peers), 1)),
    aMinute: Math.max(Math.floor((isProven ? HOST_A_MINUTE : NEW_HOST_A_MINUTE) / peers), 1),
    between: isProven ? 0 : BETWEEN_STARTS,
    givesWayAfter: isProven || isFailing ? Infinity : GIVES_WAY_AFTER,
  };
}

/** Bounds what starts in any minute: some at once, and the rest of them evenly (a token bucket). */
export class Pace {
  #spent = 0;
  #at = 0;

  /** When one more may start, of so many in a minute. */
  next(most: number, now: number): number {
    const burst = Math.max(most * BURST, 1);
    const perMillisecond = (most - burst) / MINUTE;
    // A time in the future is from before the clock was set back.
    this.#spent = Math.max(this.#spent - Math.max(now - this.#at, 0) * perMillisecond, 0);
    this.#at = now;
    return this.#spent + 1 <= burst ? now : now + Math.ceil((this.#spent + 1 - burst) / perMillisecond);
  }

  spend(): void {
    this.#spent++;
  }
}
