import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { COMPATIBILITY_DATE } from "../../scripts/bundles.ts";
import { applyMigrations } from "../../scripts/migrations.ts";
import { encodeEventCursor } from "../../src/feed/place.ts";
import type { WebhookState } from "../../src/webhooks/engine/view.ts";
import { type Answer, type Change, HOUR, MINUTE, newPet, type Post, SECOND, Stage } from "./stage.ts";

const DAY = 24 * HOUR;
/** Milliseconds from a change to its first attempt, at most, of an event that its receiver would take. */
const BOUND = 5 * SECOND;
const LONGEST_PAUSE = 60 * SECOND;
const REFUSED = "order.placed";

/** What a case shows, and between which bounds it has to be. */
export interface Figure {
  what: string;
  value: number;
  least?: number;
  most?: number;
}

const placeOf = ({ id }: Change) => id.slice(4);
const seconds = (milliseconds: number) => Math.round(milliseconds / 10) / 100;
const share = (part: number, all: number) => Math.floor((10_000 * part) / all) / 100;

/** How soon events were attempted that a receiver would take. */
function lagOf(stage: Stage, changes: readonly Change[]): Figure[] {
  const first = stage.firstPosts();
  const soon = changes.filter(({ id, at }) => (first.get(id) ?? Infinity) - at <= BOUND).length;
  return [{ what: `of ${changes.length} wanted: % in 5 s`, value: share(soon, changes.length), least: 99 }];
}

/** How soon something is attempted. */
async function untilAttempt(stage: Stage, within = HOUR, perSecond = 0): Promise<Figure[]> {
  const [{ now }, before] = [stage, stage.posts.length];
  await stage.pass(within, perSecond);
  return [{ what: "s until an attempt", value: seconds((stage.posts[before]?.at ?? Infinity) - now), most: 61 }];
}

/** A webhook of a store with a change a second, after some time. */
async function running(stage: Stage, milliseconds = MINUTE): Promise<string> {
  const name = stage.hook();
  await stage.pass(milliseconds, 1);
  return name;
}

/** The most requests that were open at once, and that came in one minute. */
function loadOf(posts: readonly Post[]): { atOnce: number; aMinute: number } {
  const ends = posts.map(({ at, end }) => Math.min(end, at + 15 * SECOND)).toSorted((a, b) => a - b);
  let [ended, before, atOnce, aMinute] = [0, 0, 0, 0];
  for (const [index, { at }] of posts.entries()) {
    while ((ends[ended] as number) <= at) ended++;
    while ((posts[before] as Post).at <= at - MINUTE) before++;
    atOnce = Math.max(atOnce, index + 1 - ended);
    aMinute = Math.max(aMinute, index + 1 - before);
  }
  return { atOnce, aMinute };
}

/** Hours of changes, of which the receiver does not take some. */
async function partly(
  stage: Stage,
  perSecond: number,
  next: () => [type: string, resource: number],
  answer: (post: Post) => Answer,
  isWanted: (change: Change) => boolean = () => true,
): Promise<Figure[]> {
  stage.answer = answer;
  const name = stage.hook();
  await stage.pass(stage.hours * HOUR, perSecond, next);
  await stage.pass(10 * SECOND);
  const { pending } = await stage.call<WebhookState>(name, "state");
  const counts = Map.groupBy(stage.posts, ({ id }) => id);
  return [
    ...lagOf(stage, stage.changes.filter(isWanted)),
    { what: "attempts of one event", value: Math.max(...counts.values().map(({ length }) => length)), most: 10 },
    { what: "pending", value: pending, most: 1_000 },
  ];
}

/** Changes of which a share is about some resources, and the others about new ones. */
function mostly(stage: Stage, part: number, resources: number) {
  const other = newPet();
  return (): [string, number] =>
    stage.random.chance(part) ? ["pet.updated", stage.random.between(1, resources)] : other();
}

/** A receiver that does not take some animals, however often they come. */
const poisoned = (stage: Stage, perSecond: number, part: number, resources: number, answer: Answer) =>
  partly(
    stage,
    perSecond,
    mostly(stage, part, resources),
    ({ resource }) => (resource <= resources ? answer : [50, 204]),
    ({ resource }) => resource > resources,
  );

/** Changes of which a share has a type that the receiver refuses. */
function withRefused(stage: Stage, part: number) {
  const other = newPet();
  return (): [string, number] => {
    const [type, id] = other();
    return [stage.random.chance(part) ? REFUSED : type, id];
  };
}

const isNotRefused = ({ type }: Change) => type !== REFUSED;

/** A replay, by the engine of any version. Returns by how many events the main place went back or jumped ahead. */
async function replay(stage: Stage, name: string, { id }: Change): Promise<Figure> {
  const indexOf = ({ cursor }: WebhookState) =>
    stage.changes.findIndex((change) => encodeEventCursor(placeOf(change)) === cursor);
  const before = indexOf(await stage.call<WebhookState>(name, "state"));
  await stage.call(name, "replay", id.slice(4), false);
  const after = indexOf(await stage.call<WebhookState>(name, "state"));
  return { what: "events that the main place moved by", value: after - before, least: 0, most: 8 };
}

const lost = (stage: Stage): Figure => {
  const taken = stage.taken();
  return { what: "events lost", value: stage.changes.filter(({ id }) => !taken.has(id)).length, most: 0 };
};

/** Creations in one transaction. */
function burst(stage: Stage, count: number): Change[] {
  const next = newPet();
  return stage.change(Array.from({ length: count }, () => next()));
}

/** How fast a backlog arrives. */
async function backlog(stage: Stage, count: number, after: number, least: number): Promise<Figure[]> {
  stage.answer = () => [after, 204];
  stage.hook();
  await stage.pass(MINUTE);
  // It is known to take deliveries.
  stage.change([["pet.created", 1]]);
  await stage.pass(MINUTE);
  const { now } = stage;
  const changes = burst(stage, count);
  stage.database.statements.length = 0;
  while (stage.taken().size <= changes.length && stage.now < now + 6 * HOUR) await stage.pass(10 * SECOND);
  const end = stage.posts.at(-1)?.end ?? Infinity;
  return [
    { what: "events a second", value: Math.round(count / seconds(end - now)), least },
    { what: "at once", value: loadOf(stage.posts).atOnce, most: 6 },
    { what: "events a statement of D1", value: Math.round(count / stage.database.statements.length), least: 100 },
  ];
}

/** How long one event is held up by others before it that the webhook does not want. */
async function skipped(stage: Stage, count: number): Promise<Figure[]> {
  stage.hook({ types: ["order.placed"] });
  await stage.pass(MINUTE);
  const { now } = stage;
  // One value of D1 holds no more.
  for (let made = 0; made < count; made += 20_000) burst(stage, Math.min(count - made, 20_000));
  const [wanted] = stage.change([["order.placed", 1]]);
  while (stage.posts.length === 0 && stage.now < now + 6 * HOUR) await stage.pass(SECOND);
  const late = (stage.posts[0]?.at ?? Infinity) - (wanted?.at ?? 0);
  const figures: Figure[] = [{ what: `s late after ${count} others`, value: seconds(late), most: 5 + count / 20_000 }];
  if (count >= 100_000)
    figures.push({ what: "others a second", value: Math.round(count / seconds(late)), least: 20_000 });
  return figures;
}

/** What a webhook costs in so many minutes, as of a month of 30.4 days: docs/capacity.md. In thousands, with the most of each. */
async function cost(stage: Stage, perSecond: number, minutes: number, most: [number, number, number]) {
  const name = stage.hook();
  await stage.pass(MINUTE, perSecond);
  const storage = stage.objects.storageOf(name);
  const [rows, alarms, nudges] = [storage.rowsWritten, storage.alarmsSet, stage.nudges];
  stage.database.statements.length = 0;
  await stage.pass(minutes * MINUTE, perSecond);
  const set = storage.alarmsSet - alarms;
  const counts = [stage.nudges - nudges + set, storage.rowsWritten - rows + set, await rowsRead(stage)];
  return ["requests", "rows written", "rows read in D1"].map((what, index): Figure => {
    const value = Math.round(((counts[index] as number) / minutes) * 43.83);
    return { what: `thousand ${what} a month`, value, most: most[index] as number };
  });
}

/** Rows that the statements read in D1, as its own count of them says. */
async function rowsRead(stage: Stage): Promise<number> {
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: "export default {}",
      compatibilityDate: COMPATIBILITY_DATE,
      d1Databases: { DB: "progress" },
    }),
  );
  const database = await miniflare.getD1Database("DB");
  await applyMigrations(database, "drizzle");
  await database.prepare("DELETE FROM events").run();
  for (const table of ["events", "webhooks"]) {
    const rows = stage.rows(`SELECT * FROM ${table}`);
    const columns = Object.keys(rows[0] as object);
    const values = columns.map((column) => `value ->> '${column}'`);
    const copy = `INSERT INTO ${table} (${columns.join()}) SELECT ${values.join()} FROM json_each(?)`;
    await database.prepare(copy).bind(JSON.stringify(rows)).run();
  }
  let read = 0;
  // From the last one on, so that each meets the events of its time.
  for (const { sql, values, at } of stage.database.statements.toReversed()) {
    const later = database.prepare("DELETE FROM events WHERE created_at > ?").bind(new Date(at).toISOString());
    const [, result] = await database.batch([later, database.prepare(sql).bind(...values)]);
    read += result?.meta.rows_read ?? 0;
  }
  await miniflare.dispose();
  return read;
}

/** When the storage of an object has no secret any more, in milliseconds from now. Infinity when it keeps one. */
async function forgets(stage: Stage, name: string, within: number): Promise<number> {
  const { now } = stage;
  const knows = () => stage.objects.storageOf(name).sql.exec("SELECT name FROM state").toArray().length > 0;
  while (knows() && stage.now < now + within) await stage.pass(stage.now < now + HOUR ? MINUTE : HOUR);
  return knows() ? Infinity : stage.now - now;
}

/** Webhooks of one host. */
async function crowd(stage: Stage, count: number, answer: Answer, isKnown: boolean): Promise<Figure[]> {
  for (let index = 0; index < count; index++) stage.hook();
  if (isKnown) {
    stage.change([["pet.created", 1]]);
    await stage.pass(10 * MINUTE);
  }
  stage.answer = () => answer;
  const before = stage.posts.length;
  burst(stage, isKnown ? 5_000 : 30);
  await stage.pass(2 * MINUTE);
  const { atOnce, aMinute } = loadOf(stage.posts.slice(before));
  return [
    { what: "at once", value: atOnce, most: count === 1 ? 3 : 12 },
    // Each object counts minutes of its own.
    { what: "a minute", value: aMinute, most: isKnown ? 39_600 : 60 },
  ];
}

/** What no outage may do. */
const spared = (stage: Stage): Figure[] => [lost(stage), { what: "given up", value: stage.failed.length, most: 0 }];

/** How soon events were taken after the moment from which their receiver would take them. */
function takenSoon(
  stage: Stage,
  changes: readonly Change[],
  takeableAt: (at: number) => number,
  within = BOUND,
): Figure {
  const taken = new Map(
    stage.posts
      .filter(({ status }) => status === 204)
      .map(({ id, end }) => [id, end])
      .toReversed() as [string, number][],
  );
  const soon = changes.filter(({ id, at }) => (taken.get(id) ?? Infinity) - takeableAt(at) <= within).length;
  return {
    what: `of ${changes.length}: % taken within ${within / SECOND} s of being takeable`,
    value: share(soon, changes.length),
    least: 99,
  };
}

/** A receiver that works and fails by turns. */
async function flapping(stage: Stage, up: number, down: number): Promise<Figure[]> {
  stage.hook();
  await stage.pass(MINUTE, 1);
  const begin = stage.now;
  const before = stage.changes.length;
  const isUp = (at: number) => (at - begin) % (up + down) < up;
  stage.answer = () => [50, isUp(stage.now) ? 204 : 503];
  await stage.pass(5 * (up + down), 10);
  stage.answer = () => [50, 204];
  await stage.pass(MINUTE);
  // An event is on its way for a second.
  const takeableAt = (at: number) =>
    isUp(at) && isUp(at + SECOND) ? at : at - ((at - begin) % (up + down)) + up + down;
  return [takenSoon(stage, stage.changes.slice(before), takeableAt), ...spared(stage)];
}

/** An operator repairs a webhook while its receiver holds attempts, to which it later answers that it wants a long pause. */
async function repaired(stage: Stage, repair: (name: string) => unknown): Promise<Figure[]> {
  const name = await running(stage);
  stage.answer = () => [10 * SECOND, 503, "86400"];
  const before = stage.changes.length;
  for (let version = 0; version < 2; version++)
    stage.change(Array.from({ length: 4 }, (_, animal) => ["pet.updated", animal]));
  await stage.pass(2 * SECOND);
  stage.answer = () => [50, 204];
  const { now } = stage;
  await repair(name);
  stage.change(Array.from({ length: 4 }, (_, animal) => ["pet.updated", animal]));
  await stage.pass(30 * SECOND);
  return [takenSoon(stage, stage.changes.slice(before), () => now), ...spared(stage)];
}

/** A receiver that is new, and hangs for the first animals. */
async function hanging(stage: Stage, animals: number): Promise<Figure[]> {
  stage.answer = ({ resource }) => (resource < animals ? [HOUR, 204] : [50, 204]);
  stage.hook();
  await stage.pass(MINUTE);
  stage.change(Array.from({ length: 60 }, (_, animal) => ["pet.created", animal]));
  await stage.pass(2 * MINUTE, 1, () => ["pet.updated", stage.random.between(0, 59)]);
  await stage.pass(10 * SECOND);
  const others = stage.changes.filter(({ resource }) => resource >= animals);
  const first = stage.firstPosts();
  const lags = others.map(({ id, at }) => (first.get(id) ?? Infinity) - at).toSorted((a, b) => a - b);
  const p95 = lags[Math.floor(0.95 * lags.length)] ?? Infinity;
  return [{ what: "s, 95th percentile of the others", value: seconds(p95), most: 5 }];
}

/** Whether a figure is in its bounds. */
export const isKept = ({ value, least = -Infinity, most = Infinity }: Figure): boolean =>
  value >= least && value <= most;

/** What receivers may rely on, each measured in a situation that endangers it. */
export const CASES: { [name: string]: (stage: Stage) => Promise<Figure[]> } = {
  "1a a type refused, half of 1/s": (stage) =>
    partly(stage, 1, withRefused(stage, 0.5), ({ type }) => [50, type === REFUSED ? 400 : 204], isNotRefused),
  "1b half fail at random, 1/s": (stage) =>
    partly(stage, 1, newPet(), () => [50, stage.random.chance(0.5) ? 500 : 204]),
  "1c three animals refused, others 2/s": (stage) => poisoned(stage, 2.3, 0.3 / 2.3, 3, [50, 422]),
  "1f 1 s each, 4/s, one in twenty refused": (stage) =>
    partly(stage, 4, withRefused(stage, 0.05), ({ type }) => [SECOND, type === REFUSED ? 400 : 204], isNotRefused),
  "1g eight animals hang, others 1/s": (stage) => poisoned(stage, 1.8, 0.8 / 1.8, 8, [HOUR, 204]),
  "2a replay ahead of the place in an outage": async (stage) => {
    const name = await running(stage);
    stage.answer = () => [50, undefined];
    await stage.pass(400 * SECOND, 4);
    const moved = await replay(stage, name, stage.changes.at(-100) as Change);
    stage.answer = () => [50, 204];
    await stage.pass(HOUR);
    return [lost(stage), moved];
  },
  "2b replay behind the place in an outage": async (stage) => {
    const name = await running(stage, 200 * SECOND);
    const delivered = stage.changes.length;
    stage.answer = () => [50, undefined];
    await stage.pass(400 * SECOND, 4);
    const moved = await replay(stage, name, stage.changes[49] as Change);
    stage.answer = () => [50, 204];
    await stage.pass(HOUR);
    const taken = stage.taken();
    const again = stage.changes.slice(50, delivered).filter(({ id }) => (taken.get(id) ?? 0) > 1);
    return [
      lost(stage),
      moved,
      { what: "% delivered again", value: share(again.length, delivered - 50), least: 100, most: 100 },
    ];
  },
  "2d changes beside a replay, 1/s, 1 s each": async (stage) => {
    const name = stage.hook();
    await stage.pass(10 * MINUTE, 2);
    stage.answer = () => [SECOND, 204];
    const moved = await replay(stage, name, stage.changes[0] as Change);
    const before = stage.changes.length;
    await stage.pass(10 * MINUTE, 1);
    await stage.pass(HOUR);
    return [lost(stage), moved, ...lagOf(stage, stage.changes.slice(before))];
  },
  "4a enabled, the call is lost": async (stage) => {
    const name = await running(stage);
    stage.set(name, "enabled = 0");
    await stage.pass(10.5 * MINUTE, 1);
    stage.isCut = true;
    stage.set(name, "enabled = 1");
    return untilAttempt(stage);
  },
  "4b disabled, the call is lost": async (stage) => {
    const name = await running(stage);
    stage.isCut = true;
    stage.set(name, "enabled = 0");
    const { now } = stage;
    await stage.pass(HOUR, 1);
    return [{ what: "s until the last attempt", value: seconds((stage.posts.at(-1)?.at ?? 0) - now), most: 61 }];
  },
  "4c disabled and deleted, the call is lost": async (stage) => {
    const name = await running(stage);
    stage.set(name, "enabled = 0");
    await stage.pass(MINUTE);
    stage.isCut = true;
    stage.delete(name);
    return [{ what: "days until the secret is gone", value: (await forgets(stage, name, 32 * DAY)) / DAY, most: 31.1 }];
  },
  "4d a nudge is lost": async (stage) => {
    await running(stage);
    await stage.pass(9.5 * MINUTE);
    stage.isCut = true;
    stage.change([["pet.created", 1]]);
    return untilAttempt(stage);
  },
  "4e changes within the second of a nudge": async (stage) => {
    stage.hook();
    for (let pairs = 0; pairs < 20; pairs++) {
      stage.change([["pet.created", 2 * pairs]]);
      await stage.pass(SECOND / 2);
      stage.change([["pet.created", 2 * pairs + 1]]);
      await stage.pass(20 * SECOND);
    }
    return lagOf(stage, stage.changes);
  },
  "5 held with full rows, 1/s": async (stage) => {
    stage.hook();
    stage.answer = () => [50, undefined];
    await stage.pass(20 * MINUTE, 1);
    stage.database.statements.length = 0;
    await stage.pass(10 * MINUTE, 1);
    return [{ what: "D1 rows read a minute", value: Math.round((await rowsRead(stage)) / 10), most: 240 }];
  },
  "6a backlog of 20,000, 5 ms": (stage) => backlog(stage, 20_000, 5, 500),
  "6b backlog of 20,000, 100 ms": (stage) => backlog(stage, 20_000, 100, 50),
  "6d 2,000 others first": (stage) => skipped(stage, 2_000),
  "6e 200,000 others first": (stage) => skipped(stage, 200_000),
  "7a no change": (stage) => cost(stage, 0, 10, [50, 50, 500]),
  "7b a change a minute": (stage) => cost(stage, 1 / 60, 60, [220, 220, 1_100]),
  "7c ten changes a second": async (stage) => [
    ...(await cost(stage, 10, 10, [5_500, 5_800, 55_000])),
    ...lagOf(stage, stage.changes),
  ],
  "8b created and deleted without a delivery": async (stage) => {
    const name = stage.hook();
    await stage.pass(MINUTE);
    stage.delete(name);
    return [
      {
        what: "s until the object forgets",
        value: seconds(await forgets(stage, name, 32 * DAY)),
        most: seconds(LONGEST_PAUSE + MINUTE),
      },
    ];
  },
  "8c a clock an hour ahead comes back": async (stage) => {
    await running(stage);
    stage.skew = HOUR;
    stage.objects.runUntil(Infinity);
    stage.answer = () => [50, undefined];
    await stage.pass(10 * MINUTE, 1);
    stage.skew = 0;
    stage.objects.runUntil(Infinity);
    stage.answer = () => [50, 204];
    return untilAttempt(stage, 2 * HOUR, 1);
  },
  "9a an outage under 30 s in a quiet store": async (stage) => {
    await running(stage);
    stage.answer = () => [50, 500];
    const { now } = stage;
    stage.change([1, 2, 3].map((animal) => ["pet.created", animal]));
    await stage.pass(8 * SECOND);
    stage.answer = () => [50, 204];
    await stage.pass(MINUTE);
    const last = Math.max(...stage.posts.map(({ end }) => end));
    return [{ what: "s until the last event is taken", value: seconds(last - now), most: 31 }, ...spared(stage)];
  },
  "9b flapping, 3 s": (stage) => flapping(stage, 3 * SECOND, 3 * SECOND),
  "9c flapping, 20 s": (stage) => flapping(stage, 20 * SECOND, 20 * SECOND),
  "9d flapping, 5 s of 25": (stage) => flapping(stage, 5 * SECOND, 20 * SECOND),
  "9e another address during an attempt": (stage) =>
    repaired(stage, (name) => stage.set(name, "url = 'https://new.shop.com/'")),
  "9f off and on during an attempt": (stage) =>
    repaired(stage, async (name) => {
      stage.set(name, "enabled = 0");
      await stage.pass(SECOND / 2);
      stage.set(name, "enabled = 1");
    }),
  "9g another secret during an attempt": (stage) => repaired(stage, (name) => stage.call(name, "rotate")),
  "9h a test during an attempt": (stage) => repaired(stage, (name) => stage.call(name, "sendTest")),
  "9i one animal hangs, a new receiver": (stage) => hanging(stage, 1),
  "9j three animals hang, a new receiver": (stage) => hanging(stage, 3),
  "9k six animals hang, a new receiver": (stage) => hanging(stage, 6),
  "9l replay of 10,000 beside changes, 2/s": async (stage) => {
    const name = stage.hook();
    await stage.pass(MINUTE, 1);
    burst(stage, 10_000);
    await stage.pass(5 * MINUTE);
    const { length } = stage.changes;
    await replay(stage, name, stage.changes[0] as Change);
    await stage.pass(4 * MINUTE, 2);
    await stage.pass(10 * SECOND);
    const again = [...stage.taken().values()].filter((times) => times > 1).length;
    const twice = { what: "% delivered again", value: share(again, length - 1), least: 100, most: 100 };
    return [twice, ...lagOf(stage, stage.changes.slice(length)), ...spared(stage)];
  },
  "16a ten webhooks, a host that is new and refuses": (stage) => crowd(stage, 10, [SECOND, 404], false),
  "16d one webhook, a host that is new and refuses": (stage) => crowd(stage, 1, [SECOND, 404], false),
  "16b ten webhooks, a host that takes all, 1 s": (stage) => crowd(stage, 10, [SECOND, 204], true),
  "16c ten webhooks, a host that takes all, 0 ms": (stage) => crowd(stage, 10, [0, 204], true),
};
