import type { Outcome } from "./delivery.ts";
import type { Waiting } from "./queue.ts";
import { LONGEST_RETRY_AFTER } from "./retry-after.ts";
import { FAILS_AFTER, modeAt, type State } from "./state.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Milliseconds before each attempt of an event. */
const DELAYS = [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE].concat([2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR));
export const MAX_ATTEMPTS = DELAYS.length;
/** Each delay is longer or shorter by up to this share, so that attempts spread out. */
const JITTER = 0.1;
/** Milliseconds from an attempt to the first one of a new event, while the endpoint fails. */
const BETWEEN_NEW_EVENTS = 5 * SECOND;
/** Milliseconds before each probe of an endpoint that fails. The last one repeats. */
const PROBE_DELAYS = [5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE];

/** Whether a delivery was last refused in a time, such as an outage. */
export const isWithin = ({ lastAttemptAt }: Waiting, time: State["suspect"]): boolean =>
  time !== null && lastAttemptAt !== null && lastAttemptAt >= time.from && lastAttemptAt < time.until;

/** Whether a delivery was refused in a time only. */
export const isOnlyWithin = (row: Waiting, time: State["suspect"]): boolean =>
  isWithin(row, time) && (row.refusedSince ?? 0) >= (time?.from ?? 0);

/** Whether only a long outage refused a delivery: it counts as one that was not attempted. */
const isAsNew = (row: Waiting, state: State): boolean =>
  isWithin(row, state.outage) && (row.refusedSince ?? 0) >= (state.outage?.since ?? Infinity);

/**
 * Whether a delivery was refused before and after a success, by no outage: then it may be given up for want of room.
 *
 * @param head the oldest delivery of its resource, for which it waits.
 */
export function isRefusedItself(row: Waiting, head: Waiting, state: State, now: number): boolean {
  const { lastSuccessAt, testedAt } = state;
  const since = head.refusedSince ?? Infinity;
  const tookAt = Math.max(lastSuccessAt ?? 0, testedAt);
  if ((row.lastAttemptAt ?? 0) >= tookAt) return since < testedAt && modeAt(state, now) !== "failing";
  return since < tookAt && ![row, head].some((one) => isWithin(one, state.outage) || isWithin(one, state.suspect));
}

export type Opening = ReturnType<typeof openingAt>;

/** When an endpoint wants attempts: of new events, of what waits, and from when on it fails, if nothing succeeds. */
export function openingAt(state: State, now: number) {
  const { failedFrom, failedTo, probedAt, probes, limitedUntil } = state;
  const mode = modeAt(state, now);
  // A time further away was made by a clock that was ahead, and so was the last attempt if it is in the future.
  const heldUntil = limitedUntil > now + LONGEST_RETRY_AFTER ? 0 : limitedUntil;
  const failsAt = failedFrom === null ? Infinity : Math.min(failedFrom, now) + FAILS_AFTER;
  const delay = PROBE_DELAYS[Math.min(probes, PROBE_DELAYS.length - 1)] as number;
  const probe = Math.max(probedAt > now ? now : probedAt + delay, failsAt, heldUntil);
  const anew = mode === "failing" && failedTo <= now ? failedTo + BETWEEN_NEW_EVENTS : 0;
  return { mode, anew: Math.max(anew, heldUntil), probe, failsAt, heldUntil };
}

/** When a delivery that waits may start, as far as its endpoint and its own time decide it. */
export function startsAt(row: Waiting, state: State, opening: Opening, now: number): number {
  if (row.lastAttemptAt === null) return opening.anew;
  if (opening.mode === "failing") return opening.probe;
  // The clock was set back.
  const own = row.lastAttemptAt > now ? now : row.nextAttemptAt;
  const due = Math.max(
    isWithin(row, state.outage) ? Math.min(own, state.outage?.until ?? own) : own,
    opening.heldUntil,
  );
  return due >= opening.failsAt ? opening.probe : due;
}

/**
 * When an event is attempted again, in milliseconds since the epoch.
 *
 * @param attempts that failed, from 1 to one less than `MAX_ATTEMPTS`.
 */
export function nextAttempt(attempts: number, now: number, retryAfter: number): number {
  const delay = (DELAYS[attempts] as number) * (1 + JITTER * (2 * Math.random() - 1));
  return now + Math.max(Math.round(delay), retryAfter);
}

export const isSuccess = ({ response = 0 }: Pick<Outcome, "response">): boolean => response >= 200 && response <= 299;

/** Whether an attempt counts for its event. One before the event's own time does not: a probe, or what the end of an outage makes due. */
export const counts = (row: Waiting, state: State, now: number): boolean =>
  row.lastAttemptAt === null || row.lastAttemptAt > now || row.nextAttemptAt <= now || isAsNew(row, state);

/** What an attempt that has ended means for its delivery. */
export function settle(
  row: Waiting,
  outcome: Outcome,
  state: State,
  now: number,
  isCounted: boolean,
): { row: Waiting; status: "delivered" | "pending" | "failed" } {
  const { response = null, error = null, retryAfter } = outcome;
  const attempts = (isAsNew(row, state) ? 0 : row.attempts) + Number(isCounted || isSuccess(outcome));
  const after = { ...row, lastAttemptAt: now, response, error, attempts: Math.min(attempts, MAX_ATTEMPTS) };
  if (isSuccess(outcome)) return { row: after, status: "delivered" };
  // Another receiver has refused nothing.
  const isRenewed = isAsNew(row, state) && state.outage?.since === 0;
  // A time in the future is from before the clock was set back.
  const refusedSince = isRenewed ? now : Math.min(row.refusedSince ?? now, now);
  if (!isCounted) return { row: { ...after, refusedSince }, status: "pending" };
  // An outage alone fails no event: without a success since its first refusal, only a response that blames the request does.
  const isOwn = isBlaming(response) || refusedSince < Math.max(state.lastSuccessAt ?? 0, state.testedAt);
  if (attempts >= MAX_ATTEMPTS && isOwn) return { row: { ...after, refusedSince }, status: "failed" };
  const refused = Math.min(attempts, MAX_ATTEMPTS - 1);
  const nextAttemptAt = nextAttempt(refused, now, retryAfter);
  return { row: { ...after, refusedSince, attempts: refused, nextAttemptAt }, status: "pending" };
}

/** Whether a status says that the request is at fault, and not the receiver or the moment (RFC 9110, section 15.5). */
const isBlaming = (status: number | null): boolean =>
  status !== null && status >= 400 && status <= 499 && ![408, 425, 429].includes(status);
