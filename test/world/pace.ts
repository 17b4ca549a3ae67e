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
import { type Attempt, type Configuration, HEALTHY, hostOf, takes } from "./receivers.ts";
import type { Outcome } from "./world.ts";

/** Milliseconds from a change to the first attempt of its event, if its receiver takes it, and what messages need beside them. */
const ON_THE_WAY = SECOND;
const SOON = 5 * SECOND + ON_THE_WAY;
/** Milliseconds in which an endpoint attempts a new event, whatever it answers: while it fails, after two probes that hang. */
const NEW_WHILE_FAILING = MINUTE;
/** Attempts at one host that run at once. */
const AT_ONE_HOST = 12;
/** Events that come again after a crash, at most. */
const REPEATED = 54;
/** Milliseconds without a success after which an endpoint fails. */
const FAILS_AFTER = 30 * SECOND;
/** Milliseconds from one attempt to another that runs beside it, at a host that has taken nothing. */
const BETWEEN_STARTS = SECOND / 2;
/** Milliseconds for which a fault may delay an event: a replica falls behind for as long. */
const FAULT_LASTS = 150 * SECOND;

/** What a webhook may have at once, at most, with each configuration that may have held. */
function sharesOf({ configurations }: Webhooks, name: string, from: number, to: number): number[] {
  return configurations.flatMap(({ at, all }, index) => {
    const one = all.get(name);
    if (one === undefined || at > to || (configurations[index + 1]?.at ?? Infinity) < from) return [];
    const peers = [...all.values()].filter(({ url, enabled }) => enabled === 1 && hostOf(url) === hostOf(one.url));
    return Math.min(one.concurrency, Math.max(Math.floor(AT_ONE_HOST / Math.max(peers.length, 1)), 1));
  });
}

/** The promises of docs/webhooks.md about how many attempts run at once, for one webhook. */
export function* attemptsAreFew(
  outcome: Outcome,
  webhooks: Webhooks,
  _feed: FeedOfWorld,
  name: string,
  attempts: readonly Attempt[],
): Generator<string> {
  const isRestored = restoresOf(outcome).length > 0;
  const replayedAt = webhooks.replays.find((one) => one.name === name)?.sentAt ?? Infinity;
  let [life, running, isProven] = [0, [] as Attempt[], false];
  const takenIn = new Map<string, number>();
  const repeated = new Map<number, number>();
  for (const attempt of attempts) {
    const { at, id, type } = attempt;
    // The object gave it up on its way.
    if ((attempt.givenUpAt ?? Infinity) <= at) continue;
    const resource = resourceOf(attempt);
    running = attempt.life === life ? running.filter((one) => endOf(one) > at) : [];
    ({ life } = attempt);
    if (type !== TEST) {
      const beside = running.filter((one) => one.type !== TEST);
      const most = Math.max(1, ...sharesOf(webhooks, name, at - RUN, at));
      if (beside.length >= most) yield `${id} is sent beside ${beside.length} others, of ${most}.`;
      if (beside.some((one) => resourceOf(one) === resource)) yield `${id} is sent beside another one of ${resource}.`;
      const isSoon = beside.some((one) => at - one.at < BETWEEN_STARTS - ON_THE_WAY / 2);
      if (!isProven && isSoon) yield `${id} is sent soon after another one to a host that has taken nothing.`;
    }
    running.push(attempt);
    isProven ||= type === TEST || (isTaken(attempt) && attempt.isHeard === true);
    if (isTaken(attempt) && attempt.isHeard) {
      const isRepeated = (takenIn.get(id) ?? life) !== life && !isRestored && at < replayedAt;
      if (isRepeated) repeated.set(life, (repeated.get(life) ?? 0) + 1);
      takenIn.set(id, life);
    }
  }
  for (const [number, count] of repeated) if (count > REPEATED) yield `${count} events came again in life ${number}.`;
}

/** An event that its receiver takes is attempted soon, unless every place was taken all the time. Of the others, one is, if it fails. */
export function* eventsAreSoon(
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
    const came = first.get(`evt_${row.place}`) ?? Infinity;
    if (came <= at + SOON || !types.has(row.type)) continue;
    const resource = Number(/^\{"id":(\d+)/.exec(row.data)?.[1]);
    const before = own.slice(0, index).findLast(({ type }) => types.has(type));
    const ofResource = ofResources.get(`${row.type.split(".")[0]} ${resource}`) ?? [];
    /** Its configuration, if the event may be attempted until then, and nothing of its resource, of an owner or of the platform delays it. */
    const freeUntil = (due: number): Configuration | undefined => {
      const configuration = lastingConfiguration(configurations, name, at - MINUTE, due);
      const isFree =
        came > due &&
        due < endedAt &&
        configuration?.enabled === 1 &&
        row.place > configuration.place &&
        isQuiet(history.delays, at - FAULT_LASTS, due) &&
        isQuiet(restores, at - 2 * HOUR, due) &&
        !calls.some(({ name: called, from, to }) => called === name && from <= due && to >= at - MINUTE) &&
        ofResource.every((one) => one.at > due || (isTaken(one) && one.isHeard === true && endOf(one) <= at)) &&
        (before === undefined ||
          before.place <= configuration.place ||
          ofResource.some(({ id, at: sent }) => placeOf(id) === before.place && sent <= at));
      return isFree ? configuration : undefined;
    };
    const endedBy = (due: number) => attempts.filter((one) => endOf(one) <= due && one.at > at - 25 * HOUR);
    const isHeld = (one: Attempt) => (one.type === RESET && one.at >= at - HOUR) || (one.pause ?? 0) > 0;

    const probed = at + NEW_WHILE_FAILING;
    const isProbed = attempts.some((one) => first.get(one.id) === one.at && one.at >= at && one.at <= probed);
    if (!isProbed && freeUntil(probed) && !endedBy(probed).some(isHeld))
      yield `evt_${row.place} of ${at} is sent at ${came}, and nothing new before it.`;

    const due = at + SOON;
    const configuration = freeUntil(due);
    if (configuration === undefined) continue;
    const host = hostOf(configuration.url);
    const ofHost = moods.get(host) ?? [];
    const { mood = "well", at: since = 0 } = ofHost.find((one) => one.at <= at) ?? {};
    const isStable = since <= at - MINUTE && !ofHost.some((one) => one.at > at && one.at <= due);
    if (host !== HEALTHY && (!isStable || !takes(mood, { type: row.type, resource }))) continue;
    const ended = endedBy(due);
    const success = ended.findLast((one) => isTaken(one) && one.isHeard && endOf(one) <= at);
    const isOpen =
      success !== undefined &&
      ended.every(
        (one) =>
          !isHeld(one) &&
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
