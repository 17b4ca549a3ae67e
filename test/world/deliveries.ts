import {
  createdAt,
  cursorOf,
  feedOf,
  type FeedOfWorld,
  HOUR,
  idOf,
  endOf,
  isTaken,
  lastingTypes,
  MINUTE,
  placeOf,
  RESET,
  resourceOf,
  restoresOf,
  RUN,
  SECOND,
  TEST,
  type Webhooks,
} from "./attempts.ts";
import type { Finding } from "./checkers.ts";
import { rowOf, write } from "./feed.ts";
import { attemptsAreFew, eventsAreSoon } from "./pace.ts";
import { type Attempt, type Configuration, HEALTHY, hostOf, ON_ITS_WAY } from "./receivers.ts";
import type { Outcome } from "./world.ts";

/** Attempts that an event has before it fails, and deliveries that wait at most. */
const MAX_ATTEMPTS = 10;
const MAX_PENDING = 1_000;
/** Milliseconds until a receiver that works gets an event, unless an alarm is lost or the database is restored. */
const SOON = 4 * MINUTE;
/** Milliseconds after each lost answer for which the later events of a resource wait. Then their order ends. */
const HELD = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, HOUR];
/** Each delay may be longer by this share. */
const JITTER = 1.1;

// Promise: numbers-of-webhooks, order-of-deliveries, the-ceiling
/** Every promise of docs/webhooks.md, for each webhook on its own. */
export function* deliveriesAreExact(outcome: Outcome): Generator<Finding> {
  const { webhooks } = outcome;
  for (const message of webhooks.failures) yield { message };
  const feed = feedOf(outcome);
  const attempts = Map.groupBy(webhooks.attempts, ({ name }) => name);
  for (const [name, own] of attempts) {
    // The version before breaks some promises.
    if (webhooks.isMixed) break;
    for (const judge of [judgeAttempts, attemptsAreFew, eventsAreSoon])
      for (const message of judge(outcome, webhooks, feed, name, own)) yield { message: `${name}: ${message}` };
  }
  for (const [name, configuration] of webhooks.configurations.at(-1)?.all ?? []) {
    const own = attempts.get(name) ?? [];
    for (const message of judgeEnd(outcome, webhooks, feed, configuration, own))
      yield { message: `${name}: ${message}` };
  }
}

function* judgeAttempts(
  outcome: Outcome,
  webhooks: Webhooks,
  { rows }: FeedOfWorld,
  name: string,
  attempts: readonly Attempt[],
): Generator<string> {
  const { configurations, replays } = webhooks;
  const types = lastingTypes(webhooks, name);
  const restores = restoresOf(outcome);
  const ownReplays = replays.filter((one) => one.name === name);
  const ownFailed = webhooks.failed.filter((one) => one.name === name);
  const failed = new Map(ownFailed.map(({ event, at }) => [event, at]));
  /** When each event was first taken, and how often its receiver said so in vain. */
  const takenAt = new Map<string, number>();
  /** The last life in which each was taken. The next one may not know it. */
  const takenIn = new Map<string, number>();
  const taken = new Map<string, number>();
  /**
   * Since when each resource is refused, and with which event, the life of a success since then, which a crash may forget, and when it was
   * refused again after the success, perhaps by a replay alone.
   */
  const refusals = new Map<string, { since: number; place: string; endedIn?: number; again?: number | undefined }>();
  /** Resources whose events no longer wait for each other. */
  const unordered = new Set<string>();
  const resets: Attempt[] = [];
  const firstOfResets = attempts.filter(
    (one, index) => one.type === RESET && attempts.findIndex(({ id }) => id === one.id) === index,
  );
  const told = attempts
    .filter(({ type }) => type === RESET)
    .map((one) => [createdAt(one), idOf(cursorOf(one))] as const);
  for (const attempt of attempts) {
    const { at, id, type, url, body, headers } = attempt;
    // The configuration, with its delay.
    const isValid = configurations.some(({ all }, index) => {
      const ends = configurations[index + 1]?.at ?? Infinity;
      const one = all.get(name);
      if (one === undefined || configurations[index]!.at > at || ends < at - RUN) return false;
      const isWanted = type === RESET || one.types.includes(type);
      return one.url === url && (type === TEST || (one.enabled === 1 && isWanted));
    });
    if (!isValid) yield `${type} ${id} is sent to ${url} at ${at}, which no configuration says.`;
    // The form.
    const timestamp = Number(headers["webhook-timestamp"]);
    if (Math.abs(timestamp * SECOND - at) > MINUTE) yield `The timestamp of ${id} is ${timestamp}.`;
    if (headers["webhook-id"] !== id) yield `The body of ${id} has another id.`;
    if (type === TEST) continue;
    if (type === RESET) {
      const last = resets.at(-1);
      if (last?.id !== id) {
        if (
          !isReasonable(outcome, last?.at ?? configurations.find(({ all }) => all.has(name))?.at ?? 0, at, last, name)
        )
          yield `The reset ${id} has no reason.`;
        resets.push(attempt);
      }
    } else if (rows.get(placeOf(id)) === undefined || write(rows.get(placeOf(id))!.row) !== body)
      yield `The feed never had ${body}.`;

    const resource = resourceOf(attempt);
    // A reset goes first, for an hour.
    const reset = firstOfResets.findLast((one) => createdAt(one) <= at);
    const waitsFor = reset && createdAt(reset) <= at - SECOND && createdAt(reset) > at - HOUR + SECOND;
    if (type !== RESET && reset !== undefined && waitsFor === true) {
      // One that failed, in the ten attempts of an owner who enables the webhook again and again, is not sent again.
      const isOver = (takenAt.get(reset.id) ?? Infinity) <= at || (failed.get(reset.id) ?? Infinity) <= at;
      if (!isOver) yield `${id} is sent at ${at}, before the reset ${reset.id}.`;
    }

    // The order of its resource.
    if (type !== RESET && types.has(type)) {
      const { own = [], index = 0 } = rows.get(placeOf(id)) ?? {};
      const before = own.slice(0, index).findLast((row) => types.has(row.type));
      const latest = Math.max(
        0,
        ...ownReplays.filter((one) => one.place === undefined && one.sentAt <= at).map(({ end }) => end),
      );
      const start = configurations.find(({ all }) => all.has(name))?.all.get(name)?.place ?? "";
      // After an hour, others go before a reset.
      const floor = Math.max(idOf(start), ...told.flatMap(([time, id]) => (time <= at ? id : [])));
      if (before !== undefined && before.id > floor) {
        const event = `evt_${before.place}`;
        const isDone =
          (takenAt.get(event) ?? Infinity) <= at ||
          (failed.get(event) ?? Infinity) <= at ||
          (rows.get(before.place)?.at ?? 0) <= latest;
        const { since = Infinity, endedIn, again = Infinity } = refusals.get(resource) ?? {};
        if ((endedIn === attempt.life ? again : since) <= at - HOUR + SECOND) unordered.add(resource);
        if (!isDone && !unordered.has(resource)) yield `${id} of ${resource} is sent at ${at}, before ${event}.`;
      }
    }
    const { end = Infinity } = attempt;
    const isReplay = (takenAt.get(id) ?? Infinity) <= at;
    if (isTaken(attempt)) {
      takenAt.set(id, Math.min(takenAt.get(id) ?? Infinity, end));
      takenIn.set(id, attempt.life);
      if (attempt.isHeard) taken.set(id, (taken.get(id) ?? 0) + 1);
    }
    const refusal = refusals.get(resource);
    const mayBeReplay = ownReplays.some(
      ({ place = "g", until = "g", sentAt }) => sentAt <= at && placeOf(id) > place && placeOf(id) <= until,
    );
    // A replay has an order of its own. Without one, or after a crash, it may be forgotten that it was taken.
    if (isReplay && mayBeReplay && takenIn.get(id) === attempt.life) continue;
    // The hour may be over before the success: what waits then has no order.
    if (refusal !== undefined && refusal.since <= endOf(attempt) - HOUR + SECOND) unordered.add(resource);
    const place = placeOf(id);
    if (isTaken(attempt) && attempt.isHeard) {
      // One before it is taken again after a crash, which may remember the refusal.
      if (refusal !== undefined && !mayBeReplay && place >= refusal.place)
        Object.assign(refusal, { endedIn: attempt.life, again: undefined });
    } else if (refusal === undefined) refusals.set(resource, { since: endOf(attempt), place });
    else if (refusal.endedIn === attempt.life) {
      refusal.again ??= endOf(attempt);
      if (!mayBeReplay) refusals.set(resource, { since: refusal.again, place });
      // What a crash left may end after the next attempt.
    } else if (refusal.endedIn === undefined) refusal.since = Math.min(refusal.since, endOf(attempt));
  }

  const { lives = 1, state, deliveries = [] } = webhooks.ends.get(name) ?? {};
  for (const [id, times] of taken) {
    const most = (attempts.at(-1)?.life ?? 1) + ownReplays.length + restores.length;
    if (times > most) yield `${id} was taken ${times} times.`;
  }
  if (resets.length > (state?.resets ?? Infinity))
    yield `${resets.length} resets were sent, and ${state?.resets} counted.`;
  const counts = Map.groupBy(attempts, ({ id }) => id);
  for (const { event, error, at } of ownFailed) {
    const count = counts.get(event)?.length ?? 0;
    const hadNoRoom = error === "no_room" && [...rows.values()].filter((row) => row.at <= at).length > MAX_PENDING;
    if (count < MAX_ATTEMPTS && !hadNoRoom) yield `${event} failed after ${count} attempts: ${error}.`;
  }
  for (const { place, before = "", after = "", sentAt, end } of ownReplays) {
    if (place === undefined) continue;
    const isRestored = restores.some((time) => time >= sentAt - RUN && time <= end);
    // A crash forgets the last successes.
    const lifeBefore = attempts.findLast(({ at }) => at < sentAt - RUN)?.life;
    const hasCrashed = attempts.find(({ at }) => at >= end)?.life !== lifeBefore;
    if (after < before && !isRestored && !hasCrashed) yield `A replay moved the place from ${before} to ${after}.`;
  }
  for (const { event, status } of deliveries) {
    if (status === "delivered" && !taken.has(event)) yield `${event} is said to be delivered.`;
    if (status === "failed" && !failed.has(event)) yield `The log does not say that ${event} failed.`;
  }
  const sum = [...taken.values()].reduce((all, times) => all + times, failed.size);
  if (state !== undefined && lives === 1 && sum < 1_000 && deliveries.length !== sum)
    yield `${deliveries.length} deliveries are listed, and ${sum} have ended.`;
}

/** Whether the feed may have lost a place between two times. */
function isReasonable(
  { history, feed, webhooks }: Outcome,
  from: number,
  to: number,
  last: Attempt | undefined,
  name: string,
): boolean {
  const isRestored = history.events.some(
    (one) => one.kind === "occurrence" && one.restored !== undefined && one.at >= from - RUN && one.at <= to,
  );
  const isReplayed = webhooks.replays.some((one) => one.name === name && one.sentAt <= to && one.end >= from - RUN);
  if (isRestored || isReplayed) return true;
  const start = webhooks?.configurations.find(({ all }) => all.has(name))?.all.get(name)?.place ?? "";
  const place = idOf(last === undefined ? start : cursorOf(last));
  return feed.some(({ at, oldest }) => at <= to && oldest > place);
}

function* judgeEnd(
  outcome: Outcome,
  webhooks: Webhooks,
  { rows, present }: FeedOfWorld,
  { name, url, enabled, place: start }: Configuration,
  attempts: readonly Attempt[],
): Generator<string> {
  const end = webhooks.ends.get(name);
  if (end === undefined || enabled !== 1) {
    yield "It is not enabled after the calm time.";
    return;
  }
  const { state } = end;
  if (state.pending !== 0) yield `${state.pending} deliveries wait after the calm time.`;
  const types = lastingTypes(webhooks, name);
  const has = (place: string) => rowOf(present, idOf(place))?.place === place;
  const taken = attempts.filter(isTaken).filter(({ type }) => type !== TEST);
  const resets = taken.filter(({ type }) => type === RESET);
  const ownReplays = webhooks.replays.filter((one) => one.name === name);

  // What a receiver has from a history that is gone, a reset told. An object that crashes forgets its last attempts, of a second at most.
  const isKnown = (attempt: Attempt) => (end.crashes.get(attempt.life) ?? Infinity) > endOf(attempt) + SECOND;
  const known = [{ at: 0, place: start }].concat(
    taken.filter(isKnown).map((one) => ({ at: one.at, place: one.type === RESET ? cursorOf(one) : placeOf(one.id) })),
  );
  const lost = known.findLast(({ place }) => !has(place));
  // An attempt of an object that crashed may arrive later than the reset.
  if (lost !== undefined && !webhooks.isMixed && !resets.some((one) => one.at > lost.at - 2 * ON_ITS_WAY))
    yield `The place ${lost.place} is gone, and no reset said so.`;

  // At least once.
  const latest = Math.max(0, ...ownReplays.filter(({ place }) => place === undefined).map((one) => one.end));
  const told = Math.max(0, ...resets.map(cursorOf).filter(has).map(idOf));
  const failed = webhooks.failed.filter((one) => one.name === name);
  const done = new Map<string, number>();
  for (const { id, end: at = 0 } of taken) done.set(id, Math.max(done.get(id) ?? 0, at));
  for (const { event, at } of failed) done.set(event, Math.max(done.get(event) ?? 0, at));
  const replayed = ownReplays.filter(
    ({ place, until, isStopped }) =>
      place !== undefined && until !== undefined && has(place) && has(until) && !isStopped,
  );
  const parts = [
    { place: start, until: "g", sentAt: 0 },
    ...(replayed as { place: string; until: string; sentAt: number }[]),
  ];
  for (const { place, until, sentAt } of parts) {
    const floor = Math.max(has(place) ? idOf(place) : 0, idOf(start), told);
    // A replay waits while its receiver is away, and the feed goes on forgetting.
    const readAt = Math.min(...taken.flatMap(({ end: at = 0, isHeard }) => (isHeard && at >= sentAt ? at : []))) + RUN;
    const missing = present.rows.find(
      (row) =>
        row.id > floor &&
        row.place <= until &&
        types.has(row.type) &&
        (rows.get(row.place)?.at ?? 0) > latest &&
        (done.get(`evt_${row.place}`) ?? -1) < sentAt &&
        (sentAt === 0 || !outcome.feed.some(({ at, oldest }) => at >= sentAt && at <= readAt && oldest > row.id)),
    );
    if (missing !== undefined) yield `evt_${missing.place} was never delivered, after ${place} at ${sentAt}.`;
  }

  // Others do not hold up one that works.
  if (hostOf(url) !== HEALTHY || outcome.history.faults.has("alarm lost")) return;
  // The version before waits longer.
  if (webhooks.isMixed) return;
  const first = new Map<string, { at: number; heldUntil: number }>();
  const losses = new Map<string, number>();
  const held = new Map<string, number>();
  for (const attempt of attempts) {
    const { id, at, isHeard } = attempt;
    const resource = resourceOf(attempt);
    const heldUntil = held.get(resource) ?? 0;
    if (!first.has(id)) first.set(id, { at, heldUntil });
    if (isHeard === true) continue;
    const times = losses.get(id) ?? 0;
    losses.set(id, times + 1);
    held.set(resource, Math.max(heldUntil, endOf(attempt) + JITTER * (HELD[times] ?? HOUR)));
  }
  const restores = restoresOf(outcome);
  for (const { id, place, type } of present.rows) {
    const { at = 0 } = rows.get(place) ?? {};
    const { at: came, heldUntil } = first.get(`evt_${place}`) ?? { at: Infinity, heldUntil: 0 };
    const isDue = id > Math.max(idOf(start), told) && types.has(type) && at + SOON < webhooks.endedAt;
    const isOn = webhooks.configurations.findLast((one) => one.at <= at)?.all.get(name)?.enabled === 1;
    // The service is closed during the restore of a backup, which disables webhooks.
    const isDisturbed = restores.some((time) => time >= at - SOON && time <= came);
    if (isDue && isOn && !isDisturbed && came > Math.max(at, heldUntil) + SOON)
      yield `evt_${place} of ${at} came at ${came}.`;
  }
}
