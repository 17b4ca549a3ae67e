import { createHmac } from "node:crypto";
import type { Delivery, WebhookState } from "../../src/webhooks/engine/endpoint.ts";
import type { Finding } from "./checkers.ts";
import { type Row, rowOf, viewsOf, write } from "./feed.ts";
import { type Attempt, type Configuration, HEALTHY, ON_ITS_WAY, type Owners, type Receivers } from "./receivers.ts";
import type { Outcome } from "./world.ts";

/** What a world with webhooks leaves for this checker. */
export interface Webhooks {
  attempts: Receivers["attempts"];
  failed: Receivers["failed"];
  configurations: Owners["configurations"];
  replays: Owners["replays"];
  calls: Owners["calls"];
  /** When the last step ended. Alarms wait from then on until the calm time. */
  endedAt: number;
  /** In the end, by the name of the object. */
  ends: Map<string, { lives: number; state: WebhookState; deliveries: Delivery[] }>;
  failures: string[];
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Attempts that run at once, and that an event has before it fails. */
const AT_ONCE = 4;
const MAX_ATTEMPTS = 10;
/** Milliseconds of a run, with its reads of a slow database: an old configuration holds for so long. */
const RUN = 3 * MINUTE;
/** Milliseconds before each probe, after three failures in a row. */
const PROBES = [5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE];
const FAILURES_OF_A_HOLD = 3;
/** Milliseconds until a receiver that works gets an event, unless an alarm is lost or the database is restored. */
const SOON = 10 * MINUTE;
/** Milliseconds of an attempt at its receiver, at least until the object gives it up. */
const TIMEOUT = 14_900;
const RESET = "feed.reset";
const TEST = "webhook.test";

/** When the object knew how an attempt ended, or gave it up. */
const endOf = ({ at, end = Infinity }: Attempt) => Math.min(end, at + TIMEOUT);
const isTaken = ({ status = 0 }: Attempt) => status >= 200 && status < 300;
const placeOf = (event: string) => event.slice(4);
const idOf = (place: string) => Number.parseInt(place.slice(0, 16), 16);
const createdAt = ({ body }: Attempt) => Date.parse((JSON.parse(body) as { timestamp: string }).timestamp);
const cursorOf = ({ body }: Attempt) => (JSON.parse(body) as { data: { cursor: string } }).data.cursor.slice(0, -8);

/** What the feed had: each row with its time and its index among those of its resource, and the rows of the present history. */
function feedOf(outcome: Outcome) {
  const views = viewsOf(outcome);
  const rows = new Map<string, { row: Row; at: number; own: readonly Row[]; index: number }>();
  for (const history of new Set(views.map((view) => view.rows))) {
    const resources = Map.groupBy(
      history,
      ({ type, data }) => `${type.split(".")[0]} ${/^\{"id":(\d+)/.exec(data)?.[1]}`,
    );
    for (const own of resources.values())
      for (const [index, row] of own.entries()) rows.set(row.place, { row, at: 0, own, index });
  }
  // A restore may bring rows back, which are as old as before.
  for (const { added, at } of outcome.feed.toReversed())
    for (const { place } of added) Object.assign(rows.get(place) ?? {}, { at });
  return { rows, present: views.at(-1) ?? { rows: [], oldest: 0, newest: 0 } };
}

/** Every promise of docs/webhooks.md, for each webhook on its own. */
export function* deliveriesAreExact(outcome: Outcome): Generator<Finding> {
  const { webhooks } = outcome;
  if (webhooks === undefined) return;
  for (const message of webhooks.failures) yield { message };
  const feed = feedOf(outcome);
  const attempts = Map.groupBy(webhooks.attempts, ({ name }) => name);
  for (const [name, own] of attempts) {
    for (const message of judgeAttempts(outcome, webhooks, feed, name, own)) yield { message: `${name}: ${message}` };
  }
  for (const [name, configuration] of webhooks.configurations.at(-1)?.all ?? []) {
    const own = attempts.get(name) ?? [];
    for (const message of judgeEnd(outcome, webhooks, feed, configuration, own))
      yield { message: `${name}: ${message}` };
  }
}

/** The types that a webhook had all the time. */
function lastingTypes({ configurations }: Webhooks, name: string): Set<string> {
  const all = configurations.flatMap(({ all }) => all.get(name) ?? []).map(({ types }) => new Set(types));
  return all.reduce((some, others) => some.intersection(others));
}

function* judgeAttempts(
  outcome: Outcome,
  webhooks: Webhooks,
  { rows }: ReturnType<typeof feedOf>,
  name: string,
  attempts: readonly Attempt[],
): Generator<string> {
  const { configurations, replays, calls } = webhooks;
  const types = lastingTypes(webhooks, name);
  const restores = restoresOf(outcome);
  const ownReplays = replays.filter((one) => one.name === name);
  const ownCalls = calls.filter((one) => one.name === name);
  const failed = new Map(webhooks.failed.filter((one) => one.name === name).map(({ event, at }) => [event, at]));
  /** When each event was first taken, and how often its receiver said so in vain. */
  const takenAt = new Map<string, number>();
  const taken = new Map<string, number>();
  const firstFailure = new Map<string, number>();
  const resets: Attempt[] = [];
  const firstOfResets = attempts.filter(
    (one, index) => one.type === RESET && attempts.findIndex(({ id }) => id === one.id) === index,
  );
  const told = attempts
    .filter(({ type }) => type === RESET)
    .map((one) => [createdAt(one), idOf(cursorOf(one))] as const);
  /** Of the present life. */
  let life = 0;
  let running: Attempt[] = [];
  const probes = new Set<Attempt>();
  let inARow = { count: 0, probes: 0, end: 0 };

  const settle = (until: number) => {
    const ended = running.filter((one) => endOf(one) <= until).toSorted((a, b) => endOf(a) - endOf(b));
    running = running.filter((one) => !ended.includes(one));
    for (const one of ended) {
      const isSuccess = isTaken(one) && one.isHeard === true;
      if (isSuccess) inARow = { count: 0, probes: 0, end: 0 };
      else {
        if (probes.has(one)) inARow.probes++;
        inARow = { ...inARow, count: inARow.count + 1, end: endOf(one) };
      }
    }
  };

  for (const attempt of attempts) {
    const { at, id, type, url, body, headers, secrets } = attempt;
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
    const signatures = (headers["webhook-signature"] ?? "").split(" ");
    if (Math.abs(timestamp * SECOND - at) > MINUTE) yield `The timestamp of ${id} is ${timestamp}.`;
    if (headers["webhook-id"] !== id) yield `The body of ${id} has another id.`;
    const verifies = (secret: string) => {
      const key = Buffer.from(secret.slice("whsec_".length), "base64");
      return signatures.includes(
        `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
      );
    };
    if (secrets.length > 0 && !secrets.some(verifies)) yield `No signature of ${id} at ${at} is that of ${secrets[0]}.`;
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

    // One object.
    if (attempt.life !== life) {
      [life, running] = [attempt.life, []];
      inARow = { count: 0, probes: 0, end: 0 };
    }
    // What ended while the request was on its way did not prevent it. A timeout began on the way of its own request.
    settle(at - 2 * ON_ITS_WAY);
    const beside = running.filter((one) => endOf(one) > at);
    const resource = resourceOf(attempt);
    if (beside.length >= AT_ONCE) yield `${id} is sent beside ${beside.length} others.`;
    if (beside.some((one) => resourceOf(one) === resource)) yield `${id} is sent beside another one of ${resource}.`;
    const isDisturbed =
      ownCalls.some(({ from, to }) => from <= at && to + RUN >= inARow.end) ||
      restores.some((time) => time <= at && time + RUN >= inARow.end);
    if (isDisturbed) inARow = { count: 0, probes: 0, end: 0 };
    const hasRecovered = running.some((one) => endOf(one) <= at && isTaken(one) && one.isHeard);
    if (inARow.count >= FAILURES_OF_A_HOLD && !hasRecovered) {
      const least = inARow.end + (PROBES[Math.min(inARow.probes, PROBES.length - 1)] as number);
      // A message takes a while on its way.
      if (at < least - SECOND) yield `${id} is sent at ${at}, and the endpoint fails since ${inARow.end}.`;
      if (beside.some((one) => probes.has(one))) yield `${id} is sent beside a probe.`;
      probes.add(attempt);
    }
    running.push(attempt);

    // A reset goes first, for an hour.
    const reset = firstOfResets.findLast((one) => createdAt(one) <= at - SECOND);
    if (type !== RESET && reset !== undefined && createdAt(reset) > at - HOUR + SECOND) {
      if (!((takenAt.get(reset.id) ?? Infinity) <= at)) yield `${id} is sent at ${at}, before the reset ${reset.id}.`;
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
        const isFree = (firstFailure.get(resource) ?? Infinity) <= at - HOUR;
        if (!isDone && !isFree) yield `${id} of ${resource} is sent at ${at}, before ${event}.`;
      }
    }
    const { end = Infinity } = attempt;
    if (isTaken(attempt)) {
      takenAt.set(id, Math.min(takenAt.get(id) ?? Infinity, end));
      if (attempt.isHeard) taken.set(id, (taken.get(id) ?? 0) + 1);
    }
    if (!isTaken(attempt) || !attempt.isHeard)
      firstFailure.set(resource, Math.min(firstFailure.get(resource) ?? Infinity, endOf(attempt)));
  }

  const { lives = 1, state, deliveries = [] } = webhooks.ends.get(name) ?? {};
  for (const [id, times] of taken) {
    const most = (attempts.at(-1)?.life ?? 1) + ownReplays.length + restores.length;
    if (times > most) yield `${id} was taken ${times} times.`;
  }
  if (resets.length > (state?.resets ?? Infinity))
    yield `${resets.length} resets were sent, and ${state?.resets} counted.`;
  const counts = Map.groupBy(attempts, ({ id }) => id);
  for (const event of failed.keys()) {
    const count = counts.get(event)?.length ?? 0;
    if (count < MAX_ATTEMPTS) yield `${event} failed after ${count} attempts.`;
  }
  for (const { event, status } of deliveries) {
    if (status === "delivered" && !taken.has(event)) yield `${event} is said to be delivered.`;
    if (status === "failed" && !failed.has(event)) yield `The log does not say that ${event} failed.`;
  }
  const sum = [...taken.values()].reduce((all, times) => all + times, failed.size);
  if (state !== undefined && lives === 1 && sum < 1_000 && deliveries.length !== sum)
    yield `${deliveries.length} deliveries are listed, and ${sum} have ended.`;
}

const resourceOf = ({ id, type, body }: Attempt) =>
  type === RESET ? id : `${type.split(".")[0]} ${/"data":\{"id":(\d+)/.exec(body)?.[1]}`;

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
  const isReplayed = webhooks?.replays.some((one) => one.name === name && one.sentAt <= to && one.end >= from - RUN);
  if (isRestored || isReplayed === true) return true;
  const start = webhooks?.configurations.find(({ all }) => all.has(name))?.all.get(name)?.place ?? "";
  const place = idOf(last === undefined ? start : cursorOf(last));
  return feed.some(({ at, oldest }) => at <= to && oldest > place);
}

function* judgeEnd(
  outcome: Outcome,
  webhooks: Webhooks,
  { rows, present }: ReturnType<typeof feedOf>,
  { name, url, enabled, place: start }: Configuration,
  attempts: readonly Attempt[],
): Generator<string> {
  const end = webhooks.ends.get(name);
  const { state } = end ?? {};
  if (state === undefined || enabled !== 1) {
    yield "It is not enabled after the calm time.";
    return;
  }
  if (state.pending !== 0) yield `${state.pending} deliveries wait after the calm time.`;
  const types = lastingTypes(webhooks, name);
  const has = (place: string) => rowOf(present, idOf(place))?.place === place;
  const taken = attempts.filter(isTaken).filter(({ type }) => type !== TEST);
  const resets = taken.filter(({ type }) => type === RESET);
  const ownReplays = webhooks.replays.filter((one) => one.name === name);

  // What a receiver has from a history that is gone, a reset told.
  const known = [{ at: 0, place: start }].concat(
    taken.map((one) => ({ at: one.at, place: one.type === RESET ? cursorOf(one) : placeOf(one.id) })),
  );
  const lost = known.findLast(({ place }) => !has(place));
  // An attempt of an object that crashed may arrive later than the reset.
  if (lost !== undefined && !resets.some((one) => one.at > lost.at - 2 * ON_ITS_WAY))
    yield `The place ${lost.place} is gone, and no reset said so.`;

  // At least once.
  const latest = Math.max(0, ...ownReplays.filter(({ place }) => place === undefined).map((one) => one.end));
  const told = Math.max(0, ...resets.map(cursorOf).filter(has).map(idOf));
  const failed = webhooks.failed.filter((one) => one.name === name);
  const done = new Map<string, number>();
  for (const { id, at } of taken) done.set(id, Math.max(done.get(id) ?? 0, at));
  for (const { event, at } of failed) done.set(event, Math.max(done.get(event) ?? 0, at));
  const begins = [{ place: start, sentAt: 0 }].concat(
    ownReplays.flatMap(({ place, sentAt, isSure }) => (isSure && place !== undefined ? [{ place, sentAt }] : [])),
  );
  for (const { place, sentAt } of begins) {
    const floor = Math.max(has(place) ? idOf(place) : 0, idOf(start), told);
    const missing = present.rows.find(
      (row) =>
        row.id > floor &&
        types.has(row.type) &&
        (rows.get(row.place)?.at ?? 0) > latest &&
        (done.get(`evt_${row.place}`) ?? -1) < sentAt,
    );
    if (missing !== undefined) yield `evt_${missing.place} was never delivered, after ${place} at ${sentAt}.`;
  }

  // Others do not hold up one that works.
  if (new URL(url).hostname !== HEALTHY || outcome.history.faults.has("alarm lost")) return;
  const first = new Map<string, number>();
  for (const { id, at } of attempts) if (!first.has(id)) first.set(id, at);
  const restores = restoresOf(outcome);
  for (const { id, place, type } of present.rows) {
    const { at = 0 } = rows.get(place) ?? {};
    const came = first.get(`evt_${place}`) ?? Infinity;
    const isDue = id > Math.max(idOf(start), told) && types.has(type) && at + SOON < webhooks.endedAt;
    const isOn = webhooks.configurations.findLast((one) => one.at <= at)?.all.get(name)?.enabled === 1;
    // The service is closed during the restore of a backup, which disables webhooks.
    const isDisturbed = restores.some((time) => time >= at - SOON && time <= came);
    if (isDue && isOn && !isDisturbed && came > at + SOON) yield `evt_${place} of ${at} came at ${came}.`;
  }
}

const restoresOf = ({ history }: Outcome): number[] =>
  history.events.flatMap((one) => (one.kind === "occurrence" && one.restored !== undefined ? one.at : []));
