import { getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { PetStore } from "../../client/src/index.ts";
import { categories } from "../../src/categories/table.ts";
import { orders } from "../../src/orders/table.ts";
import { pets } from "../../src/pets/table.ts";
import type { Delivery, WebhookState } from "../../src/webhooks/engine/view.ts";
import { Agents } from "./agents.ts";
import { Backups } from "./backups.ts";
import { CALLS } from "./calls.ts";
import { Clients } from "./clients.ts";
import { Clock } from "./clock.ts";
import { bookmarkOf } from "./d1.ts";
import { CUSTOMERS, Customers } from "./customers.ts";
import { Database } from "./database.ts";
import type { Webhooks } from "./attempts.ts";
import { FAULTS, Faults, WORST_OF_OBJECTS } from "./faults.ts";
import { type Feed, readFeed } from "./feed.ts";
import { type FollowerCopy, Followers } from "./followers.ts";
import { History } from "./history.ts";
import { INVARIANTS } from "./invariants.ts";
import { Namespace } from "./kv.ts";
import { type ListenerEnd, Listeners } from "./listeners.ts";
import { Objects } from "./objects.ts";
import { type ApiKey, Operators, SCOPES } from "./operators.ts";
import { type Edits, type Program, programOf, programWith } from "./program.ts";
import { Random, type RandomOf } from "./random.ts";
import { Owners, Receivers } from "./receivers.ts";
import { roughRequest } from "./rough.ts";
import { LOCATIONS, Service, type Version, type Worker } from "./service.ts";
import { Shops } from "./shops.ts";

/** Milliseconds until every replica has what the last step did. */
const QUIET = 180_000;
/** The share of worlds in which only the world as a whole has troubles. */
const PEACEFUL = 0.3;
const START = Date.parse("2026-11-22T00:00:00Z");
const HOUR = 3_600_000;
/** How long webhooks have for what is left: all of the schedule, or a new address, after which everything is due. */
const CALM = { schedule: 55 * HOUR, due: 0.5 * HOUR };
/** API keys that stay good. */
const LASTING_KEYS = 3;
/** Milliseconds until others end. The shortest is long enough that every location has the key. */
const LIFE = { least: 60_000, most: 200_000 };
/** A client uses such a key in one location, mostly at about its end, and until no location has it for certain. */
const USE = { requests: 20, atEnd: 0.7, around: 30_000, after: 300_000 };
/** How long the storage is slow, and the polls in and after this time. Some clients make a bookmark up. */
const SLOW = { milliseconds: 15_000, polls: 16, madeUp: 0.15 };

/** The code that a world runs. */
export interface Code {
  versions: Version[];
  client: Program<{ PetStore: typeof PetStore }>;
  keyFormat: Program<{ generateKey: (environment: string) => string }>;
}

/** The name of the version here. */
export const PRESENT = "present";

/** Bounds of a search that the small store of a world reaches. A page has more animals than events may wait. */
export const SMALL = { changes: 12, window: 40 };
const SMALL_BOUNDS: Edits = [
  ["pets/search.ts", "WINDOW = 10_000", `WINDOW = ${SMALL.window}`],
  ["pets/search.ts", "MAX_CHANGES = 2_000", `MAX_CHANGES = ${SMALL.changes}`],
  ["pets/search.ts", "MAX_BYTES = 96", "MAX_BYTES = 16"],
  ["pets/search.ts", "MAX_UNKNOWN = 200", `MAX_UNKNOWN = ${SMALL.changes}`],
  ["pets/index-names.ts", "INDEXED_AT_ONCE = 1_000", "INDEXED_AT_ONCE = 4"],
  ["pets/index-names.ts", "FEWEST = 100", "FEWEST = 6"],
  ["index.ts", "MAX_STATEMENTS = 990", "MAX_STATEMENTS = 100"],
];

/** The service and the client as they are here, or with other texts. Some isolates have small bounds. */
export async function presentCode(...edits: Edits): Promise<Code> {
  const [program, small, client, keyFormat] = await Promise.all([
    programWith<Worker>("src/index.ts", edits),
    programWith<Worker>("src/index.ts", [...SMALL_BOUNDS, ...edits]),
    programOf<{ PetStore: typeof PetStore }>("client/src/index.ts"),
    programOf<{ generateKey: () => string }>("src/auth/key-format.ts"),
  ]);
  const versions = [
    { name: PRESENT, program },
    { name: PRESENT, program: small, hasSmallBounds: true },
  ];
  return { versions, client, keyFormat };
}

export interface Plan {
  seed: number;
  steps: number;
  /** The steps that run. All unless given. */
  only?: ReadonlySet<number> | undefined;
  /** Kinds of faults that do not happen. */
  calm?: ReadonlySet<string> | undefined;
}

/** What a world leaves for the checkers. */
export interface Outcome {
  history: History;
  operators: Operators;
  /** The secrets of customer tokens, each until the next one. */
  secrets: Service["secrets"];
  database: { [table: string]: Record<string, unknown>[] };
  /** The feed after each transaction, and for how many days its events are kept. */
  feed: Feed[];
  days: number;
  /** The followers that had a copy, after a while without faults and changes. */
  followers: FollowerCopy[];
  /** The listeners that listened in that time. */
  listeners: readonly ListenerEnd[];
  webhooks: Webhooks;
  /** Breaches of invariants, with the number of the event after which each was there. */
  breaches: { event: number; message: string }[];
  /** What went wrong with backups and their restores. */
  backupFailures: string[];
  /** Lines of errors in the log of the service. */
  errors: string[];
  /** How long the world lasted, in milliseconds of its time. */
  duration: number;
}

/** How often each kind of step comes. */
const HAPPENINGS = {
  "a call": 1_500,
  "a rough request": 450,
  "a crash": 10,
  "a journey": 20,
  "a program goes on after its crash": 60,
  "a key that ends": 8,
  "a follower goes on": 45,
  "a listener goes on": 150,
  overload: 2,
  "slow for a while": 4,
  "replica falls behind": 4,
  "clock jumps": 4,
  "a snapshot": 4,
  restore: 2,
  "a backup": 10,
  "a restore of a backup": 5,
  "a webhook is managed": 90,
  "a receiver changes": 30,
  "a release": 3,
  "a customer calls": 250,
  "an agent calls": 250,
  "a secret is replaced": 3,
};

const WEIGHTS = Object.fromEntries(Object.entries(CALLS).map(([name, { weight }]) => [name, weight]));

/** The model knows nothing that clients never see. */
const UNKNOWN = ["folded", "folded_of"];
/** Each table of resources with all of its columns, by their names in the model. Integers are texts, which are exact. */
const TABLES = Object.fromEntries(
  [pets, categories, orders].map((table) => {
    const columns = Object.entries<SQLiteColumn>(getTableColumns(table))
      .filter(([, { name }]) => !UNKNOWN.includes(name))
      .map(([field, { name }]) => `CAST(${name} AS TEXT) AS ${field}`);
    const name = getTableName(table);
    return [name, `SELECT ${columns.join()} FROM ${name} ORDER BY ${name}.id`];
  }),
);

/** Runs a world from its seed. The same plan gives the same history. */
export async function runWorld(code: Code, plan: Plan): Promise<Outcome> {
  return new World(code, plan).run();
}

/** The parts that webhooks need. */
interface Parts {
  receivers: Receivers;
  owners: Owners;
  objects: Objects;
}

class World {
  readonly #plan: Plan;
  readonly #calm: Set<string>;
  readonly #clock = new Clock(START);
  readonly #history = new History(this.#clock);
  readonly #variables: { READ_MAX_AGE: string; READS: string; EVENT_DAYS: string; LIVE_OBJECTS: string };
  readonly #database: Database;
  readonly #operators: Operators;
  readonly #keys: readonly ApiKey[];
  readonly #service: Service;
  readonly #clients: Clients;
  readonly #shops: Shops;
  readonly #customers: Customers;
  readonly #agents: Agents;
  readonly #followers: Followers;
  readonly #webhooks: Parts;
  readonly #listeners: Listeners;
  readonly #backups: Backups;
  readonly #feed: Feed[];
  readonly #breaches: Outcome["breaches"] = [];
  readonly #snapshots: { content: Uint8Array; number: number }[] = [];
  /** How many moments operators have noted, for snapshots and backups. */
  #notes = 0;
  /** Whether an operator restores a backup. */
  #isRestoring = false;
  #isOver = false;
  #endedAt = 0;

  constructor(code: Code, plan: Plan) {
    this.#plan = plan;
    this.#calm = new Set(plan.calm);
    const random = this.#random;
    // Only without faults it is sure how soon an event arrives.
    if (random("peace").chance(PEACEFUL)) for (const fault of FAULTS) this.#calm.add(fault);
    const [clock, history, calm] = [this.#clock, this.#history, this.#calm];
    const setting = random("setting");
    const faults = new Faults(setting, history, calm);
    const replicas = setting.pick([0, 1, 2, 2, 3]);
    const database = (this.#database = new Database(clock, random("lag"), replicas, random("late")));
    const keys = new Namespace(clock, random("keys"), LOCATIONS);
    this.#variables = {
      READ_MAX_AGE: setting.pick(["0", "0", "0", "5"]),
      READS: setting.pick(["nearest", "nearest", "nearest", "primary"]),
      EVENT_DAYS: setting.pick(["7", "0.5", "0.1", "0.02"]),
      LIVE_OBJECTS: setting.pick(["1", "2"]),
    };
    const platform = { clock, database, keys, faults, history, variables: this.#variables, random };
    const service = new Service(platform, code.versions);
    const alive = { clock, skew: () => 0, isAlive: () => true, onError: () => {} };
    const { generateKey } = code.keyFormat({ ...alive, random: random("secrets") });
    this.#operators = new Operators(clock, keys, () => generateKey("production"));
    this.#keys = Array.from({ length: LASTING_KEYS }, () => this.#operators.create());
    const narrow = this.#operators.create(undefined, ["pets:read", "events:read"]);
    const manager = this.#operators.create(undefined, [...SCOPES, "webhooks:manage"]);
    // Until every location has them.
    clock.now += 2 * 60_000;
    const { PetStore } = code.client({ ...alive, random: random("clients") });
    const beside = code.versions.map(({ name }) => name).find((name) => name !== PRESENT);
    this.#isMixed = beside !== undefined;
    const clients = new Clients({ clock, history, service, PetStore, random, beside });
    this.#service = service;
    this.#clients = clients;
    this.#shops = new Shops(clients, clock, random, this.#keys);
    this.#customers = new Customers(clients, clock, this.#keys);
    this.#agents = new Agents(clients, clock, this.#keys);
    this.#followers = new Followers({ clients, clock, history, keys: this.#keys });
    this.#webhooks = this.#createWebhooks(code, manager);
    const { objects } = this.#webhooks;
    this.#listeners = new Listeners({ clients, clock, history, service, objects, keys: this.#keys, narrow });
    const nextNote = () => this.#notes++;
    this.#backups = new Backups({ clock, database, history, calm, nextNote });
    this.#feed = [readFeed(database.primary, clock.now, undefined)];
    database.onCommit = () => this.#onCommit();
  }

  readonly #random: RandomOf = (...names) => new Random(this.#plan.seed, ...names);

  /** Whether the version before serves some requests and objects. */
  #isMixed = false;

  #createWebhooks(code: Code, key: ApiKey): Parts {
    const [clock, history, random, service] = [this.#clock, this.#history, this.#random, this.#service];
    const receivers = new Receivers(clock, history);
    const owners = new Owners(this.#clients, clock, this.#database, receivers, key);
    const faults = new Faults(random("faults of objects"), history, this.#calm, WORST_OF_OBJECTS);
    const variables = { ...this.#variables, ENVIRONMENT: "production" };
    const path: (typeof service)["pathOf"] = (life, chance) => service.pathOf(life, chance);
    const keys: (typeof service)["keysOf"] = (life, way, chance) => service.keysOf(life, way, chance);
    const onError = (line: string) => void service.errors.push(line);
    const { versions } = code;
    const onRelease = (version: string, kept: readonly string[]) => {
      for (const state of kept) history.count(`${state} that ${version} takes over`);
    };
    const world = { clock, faults, random, receivers, versions, variables, path, keys, onError, onRelease };
    const objects = new Objects(world);
    service.objects = objects;
    return { receivers, owners, objects };
  }

  /** Lets every webhook deliver what is left, without faults. */
  async #endWebhooks({ receivers, owners, objects }: Parts): Promise<Webhooks> {
    const clock = this.#clock;
    const random = this.#random("calm");
    const isDue = random.chance(0.7);
    receivers.isCalm = true;
    objects.runUntil(clock.now + HOUR);
    await Promise.all([owners.calm(random, isDue), clock.run()]);
    // A 410 from before may disable a webhook late.
    if (owners.present.some(({ enabled }) => enabled === 0))
      await Promise.all([owners.calm(random, isDue), clock.run()]);
    objects.runUntil(clock.now + (isDue ? CALM.due : CALM.schedule));
    // The next hourly job would do so.
    for (const { name } of owners.present) if (objects.lost.has(name)) void objects.call(name, "nudge", [name]);
    await clock.run();
    objects.runUntil(0);
    const ends: Webhooks["ends"] = new Map();
    const ended = owners.present.map(async ({ name }) => {
      const state = (await objects.call(name, "state", [name])) as WebhookState;
      const all = (await objects.call(name, "deliveries", [name, { limit: 2_000 }])) as { deliveries: Delivery[] };
      const { lives, crashes } = objects.livesOf(name);
      ends.set(name, { lives, crashes, state, deliveries: all.deliveries });
    });
    await Promise.all([...ended, clock.run()]);
    objects.close();
    const { attempts, failed, moods } = receivers;
    const { configurations, replays, calls } = owners;
    const { failures } = objects;
    const isMixed = this.#isMixed;
    return { attempts, failed, moods, configurations, replays, calls, endedAt: this.#endedAt, ends, failures, isMixed };
  }

  async run(): Promise<Outcome> {
    this.#begin();
    this.#keepJob(1);
    await this.#clock.run();
    // Quiet, until every replica has everything. Then the followers go on to the end.
    for (const kind of FAULTS) this.#calm.add(kind);
    this.#service.overloadedUntil = 0;
    this.#followers.catchUp(QUIET, this.#random);
    // Beside a version without the live feed, some may hear nothing to the end.
    if (!this.#isMixed) this.#listeners.catchUp(QUIET, this.#random("listeners"));
    const webhooks = await this.#endWebhooks(this.#webhooks);
    await this.#clock.run();
    const { primary } = this.#database;
    const database = Object.fromEntries(Object.entries(TABLES).map(([name, sql]) => [name, primary.rows(sql)]));
    this.#database.close();
    this.#backups.close();
    return {
      history: this.#history,
      operators: this.#operators,
      secrets: this.#service.secrets,
      database,
      feed: this.#feed,
      days: Number(this.#variables.EVENT_DAYS),
      followers: this.#followers.copies,
      listeners: this.#listeners.ends,
      webhooks,
      breaches: this.#breaches,
      backupFailures: this.#backups.failures,
      errors: this.#service.errors,
      duration: this.#clock.now - START,
    };
  }

  /** Runs the steps of the plan, each at its time. */
  #begin(): void {
    const { steps, only } = this.#plan;
    const times = timesOf(this.#random("times"), steps, this.#clock.now);
    const kept = [...times.keys()].filter((step) => only?.has(step) !== false);
    const next = (position: number) => {
      const step = kept[position];
      if (step === undefined) {
        this.#isOver = true;
        // Their alarms would never end.
        this.#webhooks.objects.runUntil(0);
        this.#endedAt = this.#clock.now;
        return;
      }
      this.#clock.after((times[step] as number) - this.#clock.now, () => {
        this.#run(step);
        next(position + 1);
      });
    };
    next(0);
  }

  #run(step: number): void {
    this.#clients.step = step;
    const random = this.#random("step", step);
    const kind = random.weighted(HAPPENINGS);
    const shop = this.#shops.pick(random);
    if (this.#calm.has(kind)) return;
    const [shops, service, now] = [this.#shops, this.#service, this.#clock.now];
    const database = this.#database;
    switch (kind) {
      case "a call": {
        const { prepare } = CALLS[random.weighted(WEIGHTS)] as (typeof CALLS)[string];
        const { known } = this.#clients;
        // The version before knows no customers.
        const customers = this.#isMixed ? [] : CUSTOMERS;
        return shops.run(shop, prepare({ random, known, idempotencyKey: random.uuid(), customers }));
      }
      case "a rough request":
        return this.#sendRough(random);
      case "a crash":
        return shops.crash(shop, random);
      case "a journey":
        return shops.travel(shop, random);
      case "a program goes on after its crash":
        return shops.goOn(shop, random);
      case "a key that ends":
        return this.#useKeyThatEnds(random);
      case "a follower goes on":
        return this.#followers.goOn(random);
      case "a listener goes on":
        return this.#listeners.goOn(random, this.#operators.keys.at(-1));
      case "overload":
        this.#history.fault(kind);
        service.overloadedUntil = Math.max(service.overloadedUntil, now + random.delay(100, 20_000));
        return;
      case "slow for a while":
        this.#history.fault(kind);
        return this.#slowDown(random);
      case "replica falls behind": {
        if (database.replicas === 0) return;
        this.#history.fault(kind);
        const replica = random.between(0, database.replicas - 1);
        database.spike(replica, true);
        this.#clock.after(random.delay(1_000, 120_000), () => database.spike(replica, false));
        return;
      }
      case "clock jumps":
        this.#history.fault(kind);
        return service.setClock(random);
      case "a snapshot":
        return this.#takeSnapshot();
      case "restore":
        return this.#restoreSnapshot(random);
      case "a webhook is managed":
        return void this.#webhooks.owners.manage(random);
      case "a receiver changes":
        return this.#webhooks.receivers.change(random);
      case "a release":
        this.#history.fault(kind);
        return this.#webhooks.objects.crash();
      case "a customer calls":
        if (!this.#isMixed) this.#customers.call(random, service.secret, this.#operators.keys.at(-1));
        return;
      case "an agent calls":
        // The version before may have no tools.
        if (!this.#isMixed) void this.#agents.call(random);
        return;
      case "a secret is replaced":
        return this.#replaceSecret(random);
      case "a backup":
        if (!this.#isMixed && !this.#isRestoring && !this.#backups.isBusy) void this.#backups.copy(random);
        return;
      case "a restore of a backup":
        if (!this.#isRestoring && !this.#backups.isBusy && this.#backups.hasOne) void this.#restoreBackup(random);
    }
  }

  #sendRough(random: Random): void {
    const request = roughRequest(random, this.#clients.known, this.#database.state);
    const key = random.pick(random.chance(0.1) ? this.#operators.keys.slice(-1) : this.#keys);
    const location = random.between(0, LOCATIONS - 1);
    this.#clients.send({ body: undefined, session: undefined, ...request }, key, location).catch(() => {});
  }

  /** Uses a key before and after its end. */
  #useKeyThatEnds(random: Random): void {
    const [clock, operators] = [this.#clock, this.#operators];
    const end = Math.floor(clock.now + random.between(LIFE.least, LIFE.most));
    const expires = random.chance(0.5);
    const key = operators.create(expires ? end : undefined);
    this.#history.occurred(clock.now, `an operator creates ${key.name}`);
    const revoke = () => {
      operators.revoke(key);
      this.#history.occurred(clock.now, `an operator revokes ${key.name}`);
    };
    if (!expires) clock.after(end - clock.now, revoke);
    const times = Array.from({ length: USE.requests }, () =>
      random.chance(USE.atEnd) ? end + random.between(-USE.around, USE.around) : end + random.between(0, USE.after),
    );
    this.#clients.poll(key, random.between(0, LOCATIONS - 1), times);
  }

  /** A release with a new secret, or a rollback to an earlier one. */
  #replaceSecret(random: Random): void {
    const { secret, secrets } = this.#service;
    const earlier = random.pick(secrets).secret;
    const isRollback = random.chance(0.5) && earlier !== secret;
    this.#service.useSecret(isRollback ? earlier : random.hex(40));
    this.#history.occurred(this.#clock.now, `an operator ${isRollback ? "goes back to" : "releases"} another secret`);
  }

  /** Lets the storage be slow for a while, and polls a page in one location: slow reads, followed by some from memory. */
  #slowDown(random: Random): void {
    const { now } = this.#clock;
    this.#service.slowUntil = now + SLOW.milliseconds;
    const times = Array.from({ length: SLOW.polls }, () => now + random.between(0, 3 * SLOW.milliseconds));
    const headersOf = () => ({
      "Cache-Control": "max-age=60",
      ...(random.chance(SLOW.madeUp) && { "x-d1-bookmark": bookmarkOf(this.#database.state + 1_000_000) }),
    });
    this.#clients.poll(random.pick(this.#keys), random.between(0, LOCATIONS - 1), times, headersOf);
  }

  /** Notes a time, to which Time Travel may return. */
  #takeSnapshot(): void {
    if (this.#isRestoring) return;
    const { state } = this.#database;
    const number = this.#notes++;
    this.#snapshots.push({ content: this.#database.snapshot(), number });
    const what = `an operator notes the time, state ${state}`;
    this.#history.occurred(this.#clock.now, what, { snapshot: number, noted: state });
  }

  /** Time Travel. */
  #restoreSnapshot(random: Random): void {
    if (this.#snapshots.length === 0 || this.#isRestoring) return;
    const { content, number } = random.pick(this.#snapshots.slice(-3));
    this.#history.fault("restore");
    this.#database.restore(content);
    const { state } = this.#database;
    const what = `an operator restores what note ${number} had, state ${state}`;
    this.#history.occurred(this.#clock.now, what, { restored: number, state });
    this.#shops.goOnAfterRestore(random);
  }

  /**
   * Replaces the database by a backup. The service is closed meanwhile. The restore begins when no read waits for a replica, and the
   * service opens again when every replica has the restored data.
   */
  async #restoreBackup(random: Random): Promise<void> {
    const [clock, database] = [this.#clock, this.#database];
    this.#history.fault("a restore of a backup");
    this.#isRestoring = true;
    this.#service.overloadedUntil = Infinity;
    await clock.wait(database.longestLag);
    const restored = await this.#backups.restore(random);
    this.#checkInvariants();
    const { state } = database;
    this.#feed[state] = { ...readFeed(database.primary, clock.now, undefined), isAnew: true };
    const rows = database.primary.rows("SELECT name, seq FROM sqlite_sequence");
    const counters = Object.fromEntries(rows.map(({ name, seq }) => [String(name), Number(seq)]));
    const what = `an operator restores what note ${restored} had from a backup, state ${state}`;
    this.#history.occurred(clock.now, what, { restored, state, counters });
    await clock.wait(database.longestLag);
    this.#service.overloadedUntil = clock.now;
    this.#isRestoring = false;
    this.#shops.goOnAfterRestore(random);
  }

  /** Runs the hourly job, until the last step. */
  #keepJob(number: number): void {
    this.#clock.after(HOUR, () => {
      if (this.#isOver) return;
      if (!this.#calm.has("hourly job")) void this.#service.runJob(this.#random("job", number));
      this.#keepJob(number + 1);
    });
  }

  #onCommit(): void {
    this.#webhooks.owners.onCommit();
    const last = this.#feed.at(-1);
    // The service does not use what a restore has half done.
    if (this.#isRestoring && last !== undefined) {
      this.#feed.push({ at: this.#clock.now, oldest: last.oldest, newest: last.newest, added: [] });
      return;
    }
    this.#feed.push(readFeed(this.#database.primary, this.#clock.now, last));
    this.#checkInvariants();
  }

  #checkInvariants(): void {
    for (const [sentence, sql] of Object.entries(INVARIANTS)) {
      const ids = this.#database.primary.rows(sql).map(({ id }) => id);
      if (ids.length === 0) continue;
      this.#breaches.push({
        event: this.#history.events.length,
        message: `${sentence}, but not for ${ids.join(", ")}.`,
      });
    }
  }
}

/** When each step begins: in bursts, with pauses between them that are sometimes long. */
function timesOf(random: Random, steps: number, start: number): number[] {
  let time = start;
  let burst = 0;
  return Array.from({ length: steps }, () => {
    if (burst-- > 0) time += random.delay(0, 40);
    else {
      burst = random.between(1, 25);
      const pause = random.weighted({ short: 850, long: 140, night: 10 });
      time += { short: random.delay(50, 8_000), long: random.delay(60_000, HOUR), night: random.between(5, 30) * HOUR }[
        pause
      ];
    }
    return Math.floor(time);
  });
}
