import {
  endOf,
  type FeedOfWorld,
  HOUR,
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
import { type Attempt, type Configuration, HEALTHY, hostOf, ON_ITS_WAY, takes } from "./receivers.ts";
import type { Outcome } from "./world.ts";

/** Milliseconds from a change to the first attempt of its event, if its receiver takes it, and what messages need beside them. */
const BOUND = 5 * SECOND;
const ON_THE_WAY = SECOND;
/** Attempts of an event that count. */
const MAX_ATTEMPTS = 10;
/** Attempts at one host that run at once. */
const AT_ONE_HOST = 12;
/** Events that come again after a crash, at most. */
const REPEATED = 54;
/** Milliseconds without a success after which an endpoint fails, and before the attempts that it gets then. */
const FAILS_AFTER = 30 * SECOND;
const BETWEEN_NEW_EVENTS = 5 * SECOND;
const PROBES = [5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE];
/** Responses for so many resources within a minute that ask for a pause hold the endpoint. */
const PAUSES_OF_A_LIMIT = 3;
/** Milliseconds for which a fault may delay an event: a replica falls behind for as long. */
const FAULT_LASTS = 150 * SECOND;

const half = (atOnce: number) => Math.max(Math.floor(atOnce / 2), 1);

/** What an object knows about its endpoint for certain, since it started or was last spoken to. */
class Known {
  failedFrom = Infinity;
  failedTo = 0;
  attemptedAt = 0;
  probedAt = 0;
  probes = 0;
  hasSucceeded = false;
  readonly refused = new Set<string>();
  readonly pauses = new Map<string, { at: number; until: number }>();
  limitedUntil = 0;

  get isFailing(): boolean {
    return this.failedTo - this.failedFrom >= FAILS_AFTER + SECOND;
  }

  /** Takes over how an attempt ended. */
  settle(attempt: Attempt, isProbe: boolean): void {
    const { type, status, pause = 0, isHeard = false } = attempt;
    const [end, resource] = [endOf(attempt), resourceOf(attempt)];
    if (isTaken(attempt) && isHeard) {
      [this.failedFrom, this.failedTo, this.probes, this.hasSucceeded] = [Infinity, 0, 0, true];
      this.refused.delete(resource);
      if (type === TEST) this.forgetPauses();
      return;
    }
    if (type === TEST) return;
    this.attemptedAt = end;
    if (isProbe) this.probedAt = end;
    this.probes += Number(isProbe);
    this.refused.add(resource);
    [this.failedFrom, this.failedTo] = [Math.min(this.failedFrom, end), end];
    if (!isHeard || (status !== 429 && pause === 0)) return;
    this.pauses.set(resource, { at: end, until: end + pause });
    const recent = this.pauses.values().filter(({ at }) => at > end - MINUTE + SECOND);
    if ([...recent].length >= PAUSES_OF_A_LIMIT) this.limitedUntil = Math.max(this.limitedUntil, end + pause);
  }

  forgetPauses(): void {
    this.pauses.clear();
    this.limitedUntil = 0;
  }

  /** When an attempt may begin. */
  opensAt(resource: string, wasAttempted: boolean): number {
    const probe = this.probedAt + (PROBES[Math.min(this.probes, PROBES.length - 1)] as number);
    // One that seems to be new may have been attempted in an earlier life.
    const next = wasAttempted ? probe : Math.min(probe, this.attemptedAt + BETWEEN_NEW_EVENTS);
    const held = this.isFailing ? next : 0;
    return Math.max(held, this.limitedUntil, this.pauses.get(resource)?.until ?? 0);
  }
}

/** What a webhook may have at once, at most, with each configuration that may have held. */
function sharesOf({ configurations }: Webhooks, name: string, from: number, to: number): number[] {
  return configurations.flatMap(({ at, all }, index) => {
    const one = all.get(name);
    if (one === undefined || at > to || (configurations[index + 1]?.at ?? Infinity) < from) return [];
    const peers = [...all.values()].filter(({ url, enabled }) => enabled === 1 && hostOf(url) === hostOf(one.url));
    return Math.min(one.concurrency, Math.max(Math.floor(AT_ONE_HOST / Math.max(peers.length, 1)), 1));
  });
}

/** The promises of docs/webhooks.md about how many attempts start and when, for one webhook. */
export function* paceIsKept(
  outcome: Outcome,
  webhooks: Webhooks,
  feed: FeedOfWorld,
  name: string,
  attempts: readonly Attempt[],
): Generator<string> {
  yield* attemptsAreFew(outcome, webhooks, name, attempts);
  yield* eventsAreSoon(outcome, webhooks, feed, name, attempts);
}

function* attemptsAreFew(
  outcome: Outcome,
  webhooks: Webhooks,
  name: string,
  attempts: readonly Attempt[],
): Generator<string> {
  const restores = restoresOf(outcome);
  const calls = webhooks.calls.filter((one) => one.name === name);
  const replays = webhooks.replays.filter((one) => one.name === name);
  const failed = new Map(webhooks.failed.filter((one) => one.name === name).map(({ event, at }) => [event, at]));
  let [life, settledTo, last] = [0, 0, 0];
  let known = new Known();
  let running: Attempt[] = [];
  const [probes, retries, held] = [new Set<Attempt>(), new Set<Attempt>(), new Set<Attempt>()];
  /** What the main reader has attempted in this life. A replay attempts it for the first time. */
  let seen = new Set<string>();
  const counted = new Map<string, number>();
  const takenIn = new Map<string, number>();
  const repeated = new Map<number, number>();
  let isProven = false;

  for (const attempt of attempts) {
    const { at, id, type } = attempt;
    const resource = resourceOf(attempt);
    const wasProven = isProven;
    isProven ||= isTaken(attempt) && attempt.isHeard === true;
    if (attempt.life !== life) [life, running, known, seen] = [attempt.life, [], new Known(), new Set()];
    // What ended while the request was on its way did not prevent it. A timeout began on the way of its own request.
    const decidedAt = at - 2 * ON_ITS_WAY;
    const ended = running.filter((one) => endOf(one) <= decidedAt).toSorted((a, b) => endOf(a) - endOf(b));
    running = running.filter((one) => !ended.includes(one));
    for (const one of ended) known.settle(one, probes.has(one));
    const isDisturbed = (time: number) =>
      calls.some(({ from, to }) => from <= at && to + RUN >= time) ||
      restores.some((restored) => restored <= at && restored + RUN >= time);
    if (isDisturbed(Math.max(settledTo, known.attemptedAt))) known = new Known();
    settledTo = decidedAt;
    if (failed.has(id)) known.refused.delete(resource);
    running.push(attempt);
    if (type === TEST) continue;
    if (replays.some(({ sentAt }) => sentAt <= at && sentAt > last)) seen = new Set();
    last = at;

    const beside = running.filter((one) => one !== attempt && endOf(one) > at && one.type !== TEST);
    const shares = sharesOf(webhooks, name, at - RUN, at);
    const most = Math.max(1, ...shares);
    if (beside.length >= most) yield `${id} is sent beside ${beside.length} others, of ${most}.`;
    if (beside.some((one) => resourceOf(one) === resource)) yield `${id} is sent beside another one of ${resource}.`;
    const tests = attempts.some((one) => one.type === TEST && one.at <= at);
    if (!wasProven && !tests && beside.length > 0)
      yield `${id} is sent beside others to a host that has taken nothing.`;

    const isLate = running.some((one) => endOf(one) <= at && isTaken(one) && one.isHeard);
    const opens = known.opensAt(resource, seen.has(id));
    if (!isLate && at < opens - SECOND) yield `${id} is sent at ${at}, and nothing before ${opens}.`;
    if (known.isFailing && !isLate) {
      if (beside.some((one) => held.has(one)))
        yield `${id} is sent at ${at} beside another one, and the endpoint fails.`;
      held.add(attempt);
      if (seen.has(id)) probes.add(attempt);
    }
    // A replay has an order of its own.
    const isReplayed = replays.some(({ sentAt }) => sentAt <= at);
    const isRefused =
      known.refused.has(resource) && !running.some((one) => isTaken(one) && resourceOf(one) === resource);
    if (isRefused && !isReplayed) {
      const others = beside.filter((one) => retries.has(one)).length;
      if (others >= half(most)) yield `${id} of ${resource} is refused, and sent beside ${others} that are too.`;
      retries.add(attempt);
    }
    seen.add(id);

    if (known.hasSucceeded && at - known.failedFrom < FAILS_AFTER - SECOND) {
      const count = (counted.get(id) ?? 0) + 1;
      counted.set(id, count);
      const crashes = webhooks.ends.get(name)?.lives ?? life;
      if (count > MAX_ATTEMPTS * (1 + replays.length + restores.length) + crashes)
        yield `${id} is sent ${count} times.`;
    }
    if (isTaken(attempt) && attempt.isHeard) {
      const before = takenIn.get(id) ?? life;
      if (before !== life && !isReplayed && restores.length === 0) repeated.set(life, (repeated.get(life) ?? 0) + 1);
      takenIn.set(id, life);
    }
  }
  for (const [in_, count] of repeated) if (count > REPEATED) yield `${count} events came again in life ${in_}.`;
}

/** An event that its receiver takes is attempted soon, unless every place was taken all the time. */
function* eventsAreSoon(
  { history, ...outcome }: Outcome,
  webhooks: Webhooks,
  { rows }: FeedOfWorld,
  name: string,
  attempts: readonly Attempt[],
): Generator<string> {
  const { configurations, moods, calls, endedAt } = webhooks;
  const restores = restoresOf({ history, ...outcome });
  const types = lastingTypes(webhooks, name);
  const isQuiet = (times: readonly number[], from: number, to: number) =>
    !times.some((time) => time >= from && time <= to);
  const ofResources = Map.groupBy(attempts, resourceOf);
  const first = new Map<string, number>();
  for (const { id, at } of attempts) if (!first.has(id)) first.set(id, at);

  for (const { row, at, own, index } of rows.values()) {
    const due = at + BOUND + ON_THE_WAY;
    const came = first.get(`evt_${row.place}`) ?? Infinity;
    if (came <= due || due >= endedAt || !types.has(row.type)) continue;
    const configuration = lastingConfiguration(configurations, name, at - MINUTE, due);
    if (configuration === undefined || configuration.enabled !== 1 || row.place <= configuration.place) continue;
    const resource = Number(/^\{"id":(\d+)/.exec(row.data)?.[1]);
    const host = hostOf(configuration.url);
    const ofHost = moods.get(host) ?? [];
    const { mood = "well", at: since = 0 } = ofHost.find((one) => one.at <= at) ?? {};
    const isStable = since <= at - MINUTE && !ofHost.some((one) => one.at > at && one.at <= due);
    if (host !== HEALTHY && (!isStable || !takes(mood, { type: row.type, resource }))) continue;
    if (!isQuiet(history.delays, at - FAULT_LASTS, due) || !isQuiet(restores, at - 2 * HOUR, due)) continue;
    if (calls.some(({ name: called, from, to }) => called === name && from <= due && to >= at - MINUTE)) continue;
    const before = own.slice(0, index).findLast(({ type }) => types.has(type));
    const ofResource = ofResources.get(`${row.type.split(".")[0]} ${resource}`) ?? [];
    const isFree =
      ofResource.every((one) => one.at > due || (isTaken(one) && one.isHeard === true && endOf(one) <= at)) &&
      (before === undefined ||
        before.place <= configuration.place ||
        ofResource.some(({ id, at: sent }) => placeOf(id) === before.place && sent <= at));
    if (!isFree) continue;
    const ended = attempts.filter((one) => endOf(one) <= due && one.at > at - 25 * HOUR);
    const success = ended.findLast((one) => isTaken(one) && one.isHeard && endOf(one) <= at);
    const isOpen =
      success !== undefined &&
      ended.every(
        (one) =>
          (one.type !== RESET || one.at < at - HOUR) &&
          (one.pause ?? 0) === 0 &&
          (endOf(one) <= endOf(success) || endOf(one) > due - FAILS_AFTER || (isTaken(one) && one.isHeard === true)),
      );
    if (!isOpen) continue;
    const [share = 1] = sharesOf(webhooks, name, at, due);
    const near = attempts.filter((one) => one.at <= due && endOf(one) >= at && one.type !== TEST);
    const moments = [at + ON_THE_WAY, ...near.flatMap((one) => [one.at, endOf(one)])];
    const isFull = moments.some((time) => near.filter((one) => one.at <= time && endOf(one) >= time).length >= share);
    if (!isFull) yield `evt_${row.place} of ${at} is sent at ${came}, and its receiver takes it.`;
  }
}

/** The configuration that a webhook had all the time between two moments, beside the same others. */
function lastingConfiguration(
  configurations: Webhooks["configurations"],
  name: string,
  from: number,
  to: number,
): Configuration | undefined {
  const index = configurations.findLastIndex(({ at }) => at <= from);
  const isLast = (configurations[index + 1]?.at ?? Infinity) > to;
  return isLast ? configurations[index]?.all.get(name) : undefined;
}
