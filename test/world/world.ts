import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import { Backups } from "./backups.ts";
import type { PetStore, Session } from "../../client/src/index.ts";
import { type Call, CALLS, type Prepared } from "./calls.ts";
import { Clock } from "./clock.ts";
import { bookmarkOf } from "./d1.ts";
import { Database } from "./database.ts";
import { FAULTS, Faults } from "./faults.ts";
import { type Copy, type Feed, type Kind, readFeed, type Stored } from "./feed.ts";
import { Follower } from "./follower.ts";
import { type Exchange, History } from "./history.ts";
import { INVARIANTS } from "./invariants.ts";
import { Known } from "./known.ts";
import { Namespace } from "./kv.ts";
import { type ApiKey, Operators } from "./operators.ts";
import { type Program, programOf } from "./program.ts";
import { Random } from "./random.ts";
import { roughRequest } from "./rough.ts";
import { LOCATIONS, Service, type Version, type Worker } from "./service.ts";

const MIGRATIONS = join(import.meta.dirname, "../../drizzle");
/** Milliseconds until every replica has what the last step did. */
const QUIET = 180_000;
const START = Date.parse("2026-11-22T00:00:00Z");
const HOUR = 3_600_000;
const PROGRAMS = 6;
/** Programs that follow the feed, with the resources of their copies. */
const FOLLOWERS: Kind[][] = [["pet", "category", "order"], ["pet"], ["category", "order"]];
/** API keys that stay good. */
const LASTING_KEYS = 3;
/** Milliseconds until others end. The shortest is long enough that every location has the key. */
const LIFE = { least: 60_000, most: 200_000 };
/** A client uses such a key in one location, mostly at about its end, and until no location has it for certain. */
const USE = { requests: 20, atEnd: 0.7, around: 30_000, after: 300_000 };
/** How long the storage is slow, and the polls in and after this time. Some clients make a bookmark up. */
const SLOW = { milliseconds: 15_000, polls: 16, madeUp: 0.15 };
/** The share of programs that end before they note that a call is over. */
const FORGETS = 0.2;
/** Milliseconds in which programs go on after a restore. */
const RESUMES = 60_000;

/** The code that a world runs. */
export interface Code {
  versions: Version[];
  client: Program<{ PetStore: typeof PetStore }>;
  keyFormat: Program<{ generateKey: (environment: string) => string }>;
}

/** The name of the version here. */
export const PRESENT = "present";

/** The service and the client as they are here. */
export async function presentCode(): Promise<Code> {
  const [program, client, keyFormat] = await Promise.all([
    programOf<Worker>("src/index.ts"),
    programOf<{ PetStore: typeof PetStore }>("client/src/index.ts"),
    programOf<{ generateKey: () => string }>("src/auth/key-format.ts"),
  ]);
  return { versions: [{ name: PRESENT, program }], client, keyFormat };
}

export interface Plan {
  seed: number;
  steps: number;
  /** The steps that run. All unless given. */
  only?: ReadonlySet<number> | undefined;
  /** Kinds of faults that do not happen. */
  calm?: ReadonlySet<string> | undefined;
}

/** A walk through the pages of a list. */
export interface Outcome {
  history: History;
  operators: Operators;
  database: { [table: string]: Record<string, unknown>[] };
  /** The feed after each transaction, and for how many days its events are kept. */
  feed: Feed[];
  days: number;
  /** The followers that had a copy, after a while without faults and changes. */
  followers: { name: string; kinds: readonly Kind[]; copy: Copy; isAtEnd: boolean }[];
  /** Breaches of invariants, with the number of the event after which each was there. */
  breaches: { event: number; message: string }[];
  /** Lines of errors in the log of the service. */
  errors: string[];
  /** How long the world lasted, in milliseconds of its time. */
  duration: number;
}

/** A program that uses the service, in one session after another. */
interface Shop {
  name: string;
  location: number;
  key: ApiKey;
  client: Call["client"];
  bookmark: () => string | undefined;
  /** What the session ran and may not have finished, as the program stored it. */
  unfinished: Prepared[];
}

/** A follower of the feed, its present life, and the bookmark that the last one had. */
interface Following {
  follower: Follower;
  life: { isAlive: boolean };
  bookmark: string | undefined;
}

/** Runs a world from its seed. The same plan gives the same history. */
export async function runWorld(code: Code, { seed, steps, only, calm: absent = new Set() }: Plan): Promise<Outcome> {
  const random = (...names: (string | number)[]) => new Random(seed, ...names);
  const setting = random("setting");
  const calm = new Set(absent);
  const clock = new Clock(START);
  const history = new History();
  const faults = new Faults(setting, history, calm);
  const database = new Database(clock, random("lag"), setting.pick([0, 1, 2, 2, 3]), MIGRATIONS);
  const keys = new Namespace(clock, random("keys"), LOCATIONS);
  const variables = {
    READ_MAX_AGE: setting.pick(["0", "0", "0", "5"]),
    READS: setting.pick(["nearest", "nearest", "nearest", "primary"]),
    EVENT_DAYS: setting.pick(["7", "0.5", "0.1", "0.02"]),
  };
  const service = new Service({ clock, database, keys, faults, history, variables, random }, code.versions);
  const alive = { clock, skew: () => 0, isAlive: () => true, onError: () => {} };
  const { generateKey } = code.keyFormat({ ...alive, random: random("secrets") });
  const operators = new Operators(clock, keys, () => generateKey("production"));
  const lasting = Array.from({ length: LASTING_KEYS }, () => operators.create());
  // Until every location has them.
  clock.now += 2 * 60_000;
  // One for all programs, because code that is new is slow.
  const { PetStore } = code.client({ ...alive, random: random("clients") });
  const known = new Known();
  const breaches: Outcome["breaches"] = [];
  const onBreach = (message: string) => breaches.push({ event: history.events.length, message });
  let step = 0;
  /** The step of a call, also while the client repeats its request. */
  const callStep = new AsyncLocalStorage<number>();
  let sessions = 0;
  /** Distinguishes the requests of a step. */
  const sent = new Map<number, number>();

  const feed = [readFeed(database.primary, clock.now, undefined)];
  let isRestoring = false;
  database.onCommit = () => {
    const last = feed.at(-1);
    // The service does not use what a restore has half done.
    if (isRestoring && last !== undefined) {
      feed.push({ at: clock.now, oldest: last.oldest, newest: last.newest, added: [] });
      return;
    }
    feed.push(readFeed(database.primary, clock.now, feed.at(-1)));
    checkInvariants();
  };
  const checkInvariants = () => {
    for (const [sentence, sql] of Object.entries(INVARIANTS)) {
      const ids = database.primary.rows(sql).map(({ id }) => id);
      if (ids.length > 0) onBreach(`${sentence}, but not for ${ids.join(", ")}.`);
    }
  };

  /** Sends a request of a step. */
  async function send(
    request: Pick<Exchange, "method" | "path" | "headers" | "body" | "refusal" | "session">,
    ofStep: number,
    key: ApiKey,
    location: number,
    signal?: AbortSignal | null,
  ): Promise<Response> {
    const nth = (sent.get(ofStep) ?? 0) + 1;
    sent.set(ofStep, nth);
    const length = request.body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(request.body)) };
    const headers = { Authorization: `Bearer ${key.secret}`, ...length, ...request.headers };
    const id = history.exchanges.length + 1;
    const exchange = {
      id,
      step: ofStep,
      apiKey: key.name,
      sentAt: clock.now,
      trips: [],
      faults: [],
      isolate: "",
      version: "",
    };
    const whole: Exchange = { ...exchange, ...request, headers };
    const response = await service.send(whole, location, random("request", ofStep, nth));
    // The client does not see a response after its time.
    if (signal?.aborted) delete whole.receivedAt;
    else known.hear(whole);
    return response;
  }

  /** Starts a session, which goes on where another one was if it has a bookmark. */
  function start(location: number, key: ApiKey, bookmark?: string, isAlive = alive.isAlive): Session {
    const session = `session ${++sessions}`;
    const fetch = async (url: string, { method = "GET", headers, body, signal }: RequestInit): Promise<Response> => {
      // Not a failure of the network, after which the client would try again.
      if (!isAlive()) throw new Error("The program has ended");
      const fields = Object.fromEntries((headers as [string, string][]).filter(([field]) => field !== "Authorization"));
      const path = url.replace("https://petstore.example", "");
      const request = { method, path, headers: fields, body: body as string | undefined, session };
      return send(request, callStep.getStore() ?? step, key, location, signal);
    };
    const store = new PetStore({ baseUrl: "https://petstore.example/v1", apiKey: key.secret, fetch });
    const client = store.session(bookmark);
    if (bookmark !== undefined)
      history.occurred(clock.now, `${session} goes on from ${bookmark}`, { session, bookmark });
    return client;
  }

  /** Starts a program. */
  function open(name: string, location: number, key: ApiKey, bookmark?: string, unfinished: Prepared[] = []): Shop {
    const client = start(location, key, bookmark);
    return { name, location, key, client, bookmark: () => client.bookmark, unfinished };
  }

  const shops = Array.from({ length: PROGRAMS }, (_, index) =>
    open(`shop ${index}`, index % LOCATIONS, lasting[index % LASTING_KEYS] as ApiKey),
  );
  const run = (shop: Shop, prepared: Prepared) => {
    shop.unfinished.push(prepared);
    if (shop.unfinished.length > 20) shop.unfinished.shift();
    const outcome = callStep.run(step, () => prepared(shop.client));
    const forgets = random("notes", step).chance(FORGETS);
    outcome.then(
      () =>
        forgets ||
        shop.unfinished.splice(0, shop.unfinished.length, ...shop.unfinished.filter((one) => one !== prepared)),
      () => {},
    );
  };

  /** Sends the same read at these times. */
  const poll = (key: ApiKey, location: number, times: number[], headersOf: () => Exchange["headers"] = () => ({})) => {
    const request = { method: "GET", path: "/v1/pets?limit=1", body: undefined, session: undefined };
    const ofStep = step;
    for (const time of times) {
      const headers = headersOf();
      clock.after(time - clock.now, () => void send({ ...request, headers }, ofStep, key, location).catch(() => {}));
    }
  };

  const goOnAfterCrash = (random: Random, index: number) => {
    const shop = shops[index] as Shop;
    if (shop.unfinished.length > 0) run(shop, random.pick(shop.unfinished));
  };
  const goOnAfterRestore = (random: Random) => {
    for (const index of shops.keys()) clock.after(random.delay(0, RESUMES), () => goOnAfterCrash(random, index));
  };

  const followers = FOLLOWERS.map((kinds, index): Following => {
    const name = `follower ${index}`;
    const onStore = (stored: Stored) => {
      const what = `${name} stores ${stored.events.length} events, and goes from ${stored.from} to ${stored.to}`;
      history.occurred(clock.now, what, { stored });
    };
    return { follower: new Follower(name, kinds, onStore), life: { isAlive: false }, bookmark: undefined };
  });

  /** What a step may be, beside a call. */
  const snapshots: { content: Uint8Array; number: number }[] = [];
  let notes = 0;
  const backups = new Backups({ clock, database, history, calm, nextNote: () => notes++, onBreach });
  const happenings: { [name: string]: (random: Random, index: number) => void } = {
    "a call": (random, index) => {
      const shop = shops[index] as Shop;
      const kind = random.weighted(WEIGHTS);
      run(shop, (CALLS[kind] as (typeof CALLS)[string]).prepare({ random, known, idempotencyKey: random.uuid() }));
    },
    "a rough request": (random) => {
      const { path, refusal, ...request } = roughRequest(random, known, database.state);
      const key = random.pick(random.chance(0.1) ? operators.keys.slice(-1) : lasting);
      const exchange = { body: undefined, session: undefined, ...request, path, refusal };
      send(exchange, step, key, random.between(0, LOCATIONS - 1)).catch(() => {});
    },
    "a crash": (random, index) => {
      const { name, location, key, bookmark, unfinished } = shops[index] as Shop;
      shops[index] = open(name, location, key, random.chance(0.5) ? bookmark() : undefined, [...unfinished]);
    },
    "a journey": (random, index) => {
      const { name, key, bookmark, unfinished } = shops[index] as Shop;
      shops[index] = open(name, random.between(0, LOCATIONS - 1), key, bookmark(), [...unfinished]);
    },
    "a program goes on after its crash": goOnAfterCrash,
    // Its last life ends, wherever it is.
    "a follower goes on": (random) => {
      const one = random.pick(followers);
      one.life.isAlive = false;
      const life: Following["life"] = { isAlive: true };
      one.life = life;
      const isAlive = () => life.isAlive;
      const bookmark = random.chance(0.5) ? one.bookmark : undefined;
      const session = start(random.between(0, LOCATIONS - 1), random.pick(lasting), bookmark, isAlive);
      const lives = random.weighted({ short: 6, long: 3, job: 3 });
      const begin = { session, random, isAlive };
      const ended = callStep.run(step, () =>
        lives === "job" ? one.follower.catchUp(begin) : one.follower.follow(begin),
      );
      ended.catch(() => {});
      clock.after(random.delay(1_000, { short: 60_000, long: HOUR / 2, job: 600_000 }[lives]), () => {
        life.isAlive = false;
        one.bookmark = session.bookmark;
      });
    },
    "a key that ends": (random) => {
      const end = Math.floor(clock.now + random.between(LIFE.least, LIFE.most));
      const expires = random.chance(0.5);
      const key = operators.create(expires ? end : undefined);
      history.occurred(clock.now, `an operator creates ${key.name}`);
      const revoke = () => {
        operators.revoke(key);
        history.occurred(clock.now, `an operator revokes ${key.name}`);
      };
      if (!expires) clock.after(end - clock.now, revoke);
      const times = Array.from({ length: USE.requests }, () =>
        random.chance(USE.atEnd) ? end + random.between(-USE.around, USE.around) : end + random.between(0, USE.after),
      );
      poll(key, random.between(0, LOCATIONS - 1), times);
    },
    // Then polls of one page in one location: slow reads, followed by some from memory.
    "slow for a while": (random) => {
      history.fault("slow for a while");
      service.slowUntil = clock.now + SLOW.milliseconds;
      const times = Array.from({ length: SLOW.polls }, () => clock.now + random.between(0, 3 * SLOW.milliseconds));
      const headersOf = () => ({
        "Cache-Control": "max-age=60",
        ...(random.chance(SLOW.madeUp) && { "x-d1-bookmark": bookmarkOf(database.state + 1_000_000) }),
      });
      poll(random.pick(lasting), random.between(0, LOCATIONS - 1), times, headersOf);
    },
    overload: (random) => {
      history.fault("overload");
      service.overloadedUntil = Math.max(service.overloadedUntil, clock.now + random.delay(100, 20_000));
    },
    "replica falls behind": (random) => {
      if (database.replicas === 0) return;
      history.fault("replica falls behind");
      const replica = random.between(0, database.replicas - 1);
      database.spike(replica, true);
      clock.after(random.delay(1_000, 120_000), () => database.spike(replica, false));
    },
    "clock jumps": (random) => {
      history.fault("clock jumps");
      service.setClock(random);
    },
    "a snapshot": () => {
      if (isRestoring) return;
      const number = notes++;
      snapshots.push({ content: database.snapshot(), number });
      history.occurred(clock.now, `an operator notes the time, state ${database.state}`, {
        snapshot: number,
        noted: database.state,
      });
    },
    // An earlier version leaves no events.
    "a backup": (random) => {
      const isPossible = !isRestoring && !backups.isBusy;
      if (isPossible && code.versions.every(({ name }) => name === PRESENT)) void backups.copy(random);
    },
    "a restore of a backup": (random) => {
      if (!isRestoring && !backups.isBusy && backups.hasOne) void restoreBackup(random);
    },
    restore: (random) => {
      if (snapshots.length === 0 || isRestoring) return;
      const { content, number } = random.pick(snapshots.slice(-3));
      history.fault("restore");
      database.restore(content);
      const { state } = database;
      history.occurred(clock.now, `an operator restores what note ${number} had, state ${state}`, {
        restored: number,
        state,
      });
      goOnAfterRestore(random);
    },
  };

  /**
   * Replaces the database by a backup. The service is closed meanwhile. The restore begins when no read waits for a replica, and the
   * service opens again when every replica has the restored data.
   */
  async function restoreBackup(random: Random): Promise<void> {
    history.fault("a restore of a backup");
    isRestoring = true;
    service.overloadedUntil = Infinity;
    await clock.wait(database.longestLag);
    const restored = await backups.restore(random);
    checkInvariants();
    const { state } = database;
    feed[state] = { ...readFeed(database.primary, clock.now, undefined), isAnew: true };
    const rows = database.primary.rows("SELECT name, seq FROM sqlite_sequence");
    const counters = Object.fromEntries(rows.map(({ name, seq }) => [String(name), Number(seq)]));
    const what = `an operator restores what note ${restored} had from a backup, state ${state}`;
    history.occurred(clock.now, what, { restored, state, counters });
    await clock.wait(database.longestLag);
    service.overloadedUntil = clock.now;
    isRestoring = false;
    goOnAfterRestore(random);
  }

  const times = timesOf(random("times"), steps, clock.now);
  const kept = [...times.keys()].filter((index) => only?.has(index) !== false);
  let [done, jobs] = [kept.length === 0, 0];
  const begin = (position: number) => {
    const index = kept[position];
    if (index === undefined) {
      done = true;
      return;
    }
    clock.after((times[index] as number) - clock.now, () => {
      step = index;
      const chance = random("step", index);
      const kind = chance.weighted(HAPPENINGS);
      const actor = chance.between(0, PROGRAMS - 1);
      if (!calm.has(kind)) happenings[kind]?.(chance, actor);
      begin(position + 1);
    });
  };
  const keepJob = () => {
    clock.after(HOUR, () => {
      if (done) return;
      void service.runJob(random("job", ++jobs));
      keepJob();
    });
  };
  begin(0);
  keepJob();
  await clock.run();
  // Quiet, until every replica has everything. Then the followers go on to the end.
  for (const kind of FAULTS) calm.add(kind);
  service.overloadedUntil = 0;
  const ends = followers.filter(({ follower }) => follower.isStarted);
  for (const [index, { follower }] of ends.entries()) {
    clock.after(QUIET, () => {
      const session = start(index % LOCATIONS, lasting[0] as ApiKey);
      void follower.catchUp({ session, random: random(follower.name), isAlive: () => true }).catch(() => {});
    });
  }
  await clock.run();
  const { newest = 0 } = feed.at(-1) ?? {};
  const copies = ends.map(({ follower }) => ({
    name: follower.name,
    kinds: follower.kinds,
    copy: follower.copy,
    isAtEnd: follower.place === newest,
  }));
  const tables = ["pets", "categories", "orders"];
  const rows = Object.fromEntries(tables.map((name) => [name, database.primary.rows(TABLES[name] ?? "")]));
  database.close();
  backups.close();
  const duration = clock.now - START;
  const days = Number(variables.EVENT_DAYS);
  const { errors } = service;
  return { history, operators, database: rows, feed, days, followers: copies, breaches, errors, duration };
}

/** As the model writes them. */
const TABLES: { [name: string]: string } = {
  pets: "SELECT id, name, CAST(category_id AS TEXT) AS categoryId, status, version FROM pets ORDER BY id",
  categories: "SELECT id, name, description, version FROM categories ORDER BY id",
  orders: "SELECT id, pet_id AS petId, status, ship_date AS shipDate, version FROM orders ORDER BY id",
};

const WEIGHTS = Object.fromEntries(Object.entries(CALLS).map(([name, { weight }]) => [name, weight]));

/** How often each kind of step comes. */
const HAPPENINGS = {
  "a call": 1_500,
  "a rough request": 450,
  "a crash": 10,
  "a journey": 20,
  "a program goes on after its crash": 60,
  "a key that ends": 8,
  "a follower goes on": 45,
  overload: 2,
  "slow for a while": 4,
  "replica falls behind": 4,
  "clock jumps": 4,
  "a snapshot": 4,
  restore: 2,
  "a backup": 10,
  "a restore of a backup": 5,
};

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
