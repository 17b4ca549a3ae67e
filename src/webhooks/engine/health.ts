import type { Waiting } from "./queue.ts";
import { LONGEST_RETRY_AFTER } from "./retry-after.ts";
import { probeDelay } from "./schedule.ts";

const SECOND = 1_000;

/** Milliseconds without a success, from the first failure to the last, after which an endpoint fails. */
const FAILS_AFTER = 30 * SECOND;
/** Milliseconds from an attempt to the first one of a new event, while the endpoint fails. */
const BETWEEN_NEW_EVENTS = 5 * SECOND;
/** The receiver limits when it asked for a pause from so many resources, within so many milliseconds. */
const PAUSES_OF_A_LIMIT = 3;
const PAUSES_WITHIN = 60 * SECOND;
/** Attempts at one host, over all its webhooks: at once, in a minute, and in a minute as long as it has taken nothing. */
const HOST_AT_ONCE = 12;
const HOST_A_MINUTE = 36_000;
const NEW_HOST_A_MINUTE = 60;
const MINUTE = 60 * SECOND;

/** What the outcomes of all attempts say about an endpoint. Times are in milliseconds since the epoch. */
export interface Health {
  /** Of a delivery. */
  lastSuccessAt: number | null;
  /** The last test that succeeded. */
  testedAt: number;
  /** The first and the last failure since the last success. */
  failedFrom: number | null;
  failedTo: number;
  /** The end of the last attempt that was no success, and of the last probe. */
  attemptedAt: number;
  probedAt: number;
  /** Probes since it fails. */
  probes: number;
  /** The last time in which it failed. What was last attempted in it is due at its end. */
  outage: { from: number; until: number } | null;
  /** Until when the receiver wants no attempt at all, and for which resources it lately asked for a pause. */
  limitedUntil: number;
  pauses: { resource: string; at: number }[];
}

export const UNKNOWN_HEALTH: Health = {
  lastSuccessAt: null,
  testedAt: 0,
  failedFrom: null,
  failedTo: 0,
  attemptedAt: 0,
  probedAt: 0,
  probes: 0,
  outage: null,
  limitedUntil: 0,
  pauses: [],
};

/** Whether nothing succeeds. An event that is refused while others are taken is no matter of the endpoint. */
export const isFailing = ({ failedFrom, failedTo }: Pick<Health, "failedFrom" | "failedTo">): boolean =>
  failedFrom !== null && failedTo - failedFrom >= FAILS_AFTER;

/** After a delivery that the receiver took. */
export const afterSuccess = (health: Health, now: number): Health => ({
  ...withoutFailure(health, now),
  lastSuccessAt: now,
});

/** After a test that succeeded: the receiver wants no pause any more, and what it refused since its last success is due. */
export const afterTest = (health: Health, now: number): Health => ({
  ...withoutLimit(withoutFailure(health, now)),
  outage: outageUntil(health, now),
  testedAt: now,
});

/** For another receiver, or one that is back: everything is due. */
export const renewed = (health: Health, now: number): Health => ({
  ...withoutLimit(health),
  failedFrom: null,
  probes: 0,
  outage: { from: 0, until: now },
});

const withoutFailure = (health: Health, now: number): Health => ({
  ...health,
  failedFrom: null,
  probes: 0,
  outage: isFailing(health) ? outageUntil(health, now) : health.outage,
});
/** With what an earlier outage made due and nobody has attempted since. */
const outageUntil = ({ failedFrom, outage }: Health, now: number): Health["outage"] =>
  failedFrom === null ? outage : { from: Math.min(failedFrom, outage?.from ?? failedFrom), until: now };
const withoutLimit = (health: Health): Health => ({ ...health, limitedUntil: 0, pauses: [] });

/** After a failure. */
export function afterFailure(health: Health, now: number, isProbe: boolean): Health {
  const { failedFrom, probes } = health;
  // A first failure in the future is one from before the clock was set back.
  const from = failedFrom === null || failedFrom > now ? now : failedFrom;
  // New events, which are attempted more often, do not put off the next probe.
  const probedAt = isProbe || !isFailing(health) ? now : health.probedAt;
  return { ...health, failedFrom: from, failedTo: now, attemptedAt: now, probedAt, probes: probes + Number(isProbe) };
}

/**
 * After a response that asks for a pause. From several resources, or while nothing succeeds, it holds the whole endpoint. It is a failure
 * too: an outage may answer so, in which nothing is given up.
 */
export function afterPause(health: Health, resource: string, now: number, until: number, isProbe: boolean): Health {
  const recent = health.pauses.filter((one) => one.resource !== resource && Math.abs(now - one.at) <= PAUSES_WITHIN);
  const pauses = [...recent, { resource, at: now }].slice(-PAUSES_OF_A_LIMIT);
  const isLimit = pauses.length === PAUSES_OF_A_LIMIT || isFailing(health);
  return {
    ...afterFailure(health, now, isProbe),
    pauses,
    limitedUntil: isLimit ? Math.max(until, health.limitedUntil) : health.limitedUntil,
  };
}

/** Whether a delivery was last attempted in the last outage. */
export const isOfOutage = ({ lastAttemptAt }: Waiting, { outage }: Health): boolean =>
  outage !== null && lastAttemptAt !== null && lastAttemptAt >= outage.from && lastAttemptAt < outage.until;

/** When a delivery is due, as long as the endpoint works. */
export function dueAt(row: Waiting, health: Health, now: number): number {
  // The clock was set back.
  if (row.lastAttemptAt !== null && row.lastAttemptAt > now) return now;
  return Math.min(row.nextAttemptAt, isOfOutage(row, health) ? (health.outage?.until ?? 0) : Infinity);
}

/** When the endpoint may get an attempt, whatever its delivery is. A time further away was made by a clock that was ahead. */
const opensAt = ({ limitedUntil }: Health, now: number): number =>
  limitedUntil > now + LONGEST_RETRY_AFTER ? now : limitedUntil;

/** When the first attempt of a new event may start. */
export function newEventAt(health: Health, now: number): number {
  const isHeld = isFailing(health) && health.attemptedAt <= now;
  return Math.max(isHeld ? health.attemptedAt + BETWEEN_NEW_EVENTS : 0, opensAt(health, now));
}

/** When a delivery that waits may be attempted. */
export function startsAt(row: Waiting, health: Health, now: number): number {
  if (row.lastAttemptAt === null) return newEventAt(health, now);
  if (!isFailing(health)) return Math.max(dueAt(row, health, now), opensAt(health, now));
  const probeAt = health.probedAt > now ? now : health.probedAt + probeDelay(health.probes);
  return Math.max(probeAt, opensAt(health, now));
}

/** The part of an address that names its host. */
export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : "");

/** What a webhook may use of its host. */
export interface Share {
  atOnce: number;
  aMinute: number;
}

/**
 * @param webhooks that are enabled and have this host.
 * @param isProven whether the receiver took a delivery at this host.
 */
export function shareOf(concurrency: number, webhooks: number, isProven: boolean, health: Health): Share {
  const peers = Math.max(webhooks, 1);
  const atOnce = isProven && !isFailing(health) ? Math.max(Math.floor(HOST_AT_ONCE / peers), 1) : 1;
  return {
    atOnce: Math.min(concurrency, atOnce),
    aMinute: Math.max(Math.floor((isProven ? HOST_A_MINUTE : NEW_HOST_A_MINUTE) / peers), 1),
  };
}

/** Of what runs at once, the part that resources may have whose last attempt failed, and the part of a replay. */
export const halfOf = ({ atOnce }: Share): number => Math.max(Math.floor(atOnce / 2), 1);

/** Bounds what starts in any minute: some at once, and the rest of them evenly (a token bucket). */
export class Pace {
  /** The part of a minute's attempts that may start at once. */
  readonly #burst: number;
  #spent = 0;
  #at = 0;

  constructor(burst: number) {
    this.#burst = burst;
  }

  /** When one more may start, of so many in a minute. */
  next(most: number, now: number): number {
    const burst = Math.max(most * this.#burst, 1);
    const perMillisecond = (most - burst) / MINUTE;
    // A time in the future is from before the clock was set back.
    const passed = Math.max(now - this.#at, 0);
    this.#spent = Math.max(this.#spent - passed * perMillisecond, 0);
    this.#at = now;
    return this.#spent + 1 <= burst ? now : now + Math.ceil((this.#spent + 1 - burst) / perMillisecond);
  }

  spend(): void {
    this.#spent++;
  }
}
