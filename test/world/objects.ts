import type { SQLInputValue } from "node:sqlite";
import { type Prepared, Sqlite } from "../../scripts/sqlite.ts";
import { HUB } from "../../src/live/table.ts";
import type { Clock, Timer } from "./clock.ts";
import { d1Of, type Path } from "./d1.ts";
import type { Faults } from "./faults.ts";
import type { Program } from "./program.ts";
import type { Random, RandomOf } from "./random.ts";
import type { Receivers } from "./receivers.ts";
import type { Worker } from "./service.ts";
import { BROKEN, type ServerSocket } from "./sockets.ts";
import { mayWrite } from "./sqlite.ts";

/** Milliseconds of one way between an object and a receiver, at most, and until writes are durable. */
const LATENCY = { way: 60, durable: 10 };
/** Milliseconds until an object may be evicted. */
const IDLE = 10_000;
/** Of the calls of a hub beside another version, how many meet the next version. */
const RELEASED = 0.02;
/** Milliseconds before the retry of an alarm that a crash ended (Durable Objects documentation, Alarms). */
const RETRY = 2_000;
/** Milliseconds until a socket ends whose response got lost. */
const UNHEARD = 180_000;

/** What an object of the engine may keep from one version to the next, as conditions on its tables and on its progress, `value`. */
export const KEPT: { [state: string]: string } = {
  "a new event": "EXISTS (SELECT 1 FROM pending WHERE last_attempt_at IS NULL)",
  "a refused event": "EXISTS (SELECT 1 FROM pending WHERE last_attempt_at IS NOT NULL)",
  "a pause": "EXISTS (SELECT 1 FROM pending WHERE response IN (429, 503))",
  "a resource without an order": "EXISTS (SELECT 1 FROM pending WHERE first_failure_at <= ?1 - 3600000)",
  "a reset": "EXISTS (SELECT 1 FROM pending WHERE type = 'feed.reset')",
  "a replay": "value ->> '$.replay' IS NOT NULL",
  "a refused event of a replay": "EXISTS (SELECT 1 FROM replaying WHERE last_attempt_at IS NOT NULL)",
  "an endpoint that fails": "value ->> '$.health.failedFrom' <= ?1 - 30000",
  "an endpoint that limits": "value ->> '$.health.limitedUntil' > ?1",
  "an outage": "value ->> '$.health.outage' IS NOT NULL",
  "an endpoint that is off": "value ->> '$.enabled' = 0",
  "an endpoint that is gone": "value ->> '$.goneSince' IS NOT NULL",
  "a failed event": `value LIKE '%"failed"%' OR EXISTS (SELECT 1 FROM history WHERE deliveries LIKE '%"failed"%')`,
  "an event for which there was no room": "value LIKE '%no_room%'",
  "two secrets": "EXISTS (SELECT 1 FROM state WHERE name = 'secrets' AND value LIKE '%previous%')",
};

/** The storage of an object. Writes become durable together, before the next message leaves. A crash loses those that are not. */
class Storage {
  readonly #database = new Sqlite();
  readonly #prepared = new Map<string, Prepared>();
  readonly #onChange: () => void;
  #isOpen = false;
  alarm: number | null = null;
  /** How often the alarm was set. */
  alarmsSet = 0;
  #durableAlarm: number | null = null;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#database.exec("CREATE TABLE kv (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID");
  }

  readonly sql = {
    exec: (sql: string, ...values: SQLInputValue[]) => {
      if (mayWrite({ sql, values })) this.#begin();
      const isScript = values.length === 0 && sql.includes(";");
      if (isScript) this.#database.asked(() => this.#database.exec(sql));
      const rows = isScript ? [] : this.#all(sql, values);
      return { toArray: () => rows };
    },
  };

  readonly kv = {
    get: (name: string) => {
      const [row] = this.#all("SELECT value FROM kv WHERE name = ?", [name]);
      return row && (JSON.parse(String(row["value"])) as unknown);
    },
    put: (name: string, value: object) => {
      this.#begin();
      this.#all("REPLACE INTO kv VALUES (?, ?)", [name, JSON.stringify(value)]);
    },
  };

  #all(sql: string, values: SQLInputValue[]) {
    const prepared = this.#prepared.get(sql) ?? this.#database.prepareAsked(sql);
    this.#prepared.set(sql, prepared);
    if (prepared.parameters !== values.length) throw new Error("Wrong number of parameter bindings for SQL query.");
    return prepared.statement.all(...values);
  }

  #begin(): void {
    if (!this.#isOpen) this.#database.exec("BEGIN");
    if (!this.#isOpen) this.#onChange();
    this.#isOpen = true;
  }

  transactionSync(run: () => void): void {
    this.#begin();
    this.#database.exec("SAVEPOINT own");
    try {
      run();
    } catch (error) {
      this.#database.exec("ROLLBACK TO own");
      throw error;
    } finally {
      this.#database.exec("RELEASE own");
    }
  }

  getAlarm = async () => this.alarm;

  setAlarm = async (time: number | null) => {
    if (time !== null && time <= 0) throw new TypeError("setAlarm() cannot be called with an alarm time <= 0");
    this.alarm = time;
    this.alarmsSet++;
    this.#onChange();
  };

  deleteAlarm = () => this.setAlarm(null);

  async deleteAll(): Promise<void> {
    this.#begin();
    const names = this.#all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'kv'", []);
    for (const { name } of names) this.#database.exec(`DROP TABLE "${String(name)}"`);
  }

  /** Rows that statements have written. The tables have no index, which would write more. */
  get rowsWritten(): number {
    return Number(this.#all("SELECT total_changes() AS count", [])[0]?.["count"]);
  }

  /** What the object of a webhook keeps at a time. */
  kept(now: number): string[] {
    // Version 1.3.0 forgets its tables, too.
    if (this.#all("SELECT 1 FROM sqlite_schema WHERE name = 'state'", []).length === 0) return [];
    const columns = Object.values(KEPT).map((condition, index) => `${condition} AS is${index}`);
    const [row = {}] = this.#all(`SELECT ${columns.join()} FROM state WHERE name = 'progress' AND ?1 > 0`, [now]);
    return Object.keys(KEPT).filter((_, index) => row[`is${index}`] === 1);
  }

  commit(): void {
    if (this.#isOpen) this.#database.exec("COMMIT");
    this.#isOpen = false;
    this.#durableAlarm = this.alarm;
  }

  crash(): void {
    if (this.#isOpen) this.#database.exec("ROLLBACK");
    this.#isOpen = false;
    this.alarm = this.#durableAlarm;
  }

  close(): void {
    this.#database.close();
  }
}

/** What a delivery sends. */
interface Sent {
  headers: { [name: string]: string };
  body: string;
  signal: AbortSignal;
}

interface Endpoint {
  alarm: () => Promise<void>;
  [method: string]: (...parameters: unknown[]) => Promise<unknown>;
}

/** An object in memory, until it crashes or is evicted. */
export interface Life {
  number: number;
  location: number;
  isAlive: boolean;
  endpoint: Endpoint;
  /** Ends the calls that it has not answered. */
  running: Set<() => void>;
}

/** The parts of the world that objects use. */
export interface Surroundings {
  clock: Clock;
  faults: Pick<Faults, "meets">;
  random: RandomOf;
  receivers: Pick<Receivers, "receive" | "hear">;
  versions: readonly { name: string; program: Program<Worker> }[];
  variables: object;
  path: (life: Life, random: Random) => Path;
  /** The binding of the key store. Undefined without listeners. */
  keys?: (life: Pick<Life, "location">, path: Pick<Path, "delay" | "deliver">, random: Random) => object;
  onError: (line: string) => void;
  latency?: typeof LATENCY;
  /** Milliseconds that the clock of the objects and their alarms is ahead. */
  skew?: () => number;
  /** Hears what the object of a webhook keeps when another version takes it over. */
  onRelease?: (version: string, kept: readonly string[]) => void;
}

const disconnected = () => new Error("Network connection lost.");

class Hosted {
  readonly #world: Surroundings;
  readonly #objects: Objects;
  readonly #random: Random;
  readonly #latency: typeof LATENCY;
  readonly #skew: () => number;
  readonly name: string;
  readonly storage: Storage;
  life: Life | undefined;
  lives = 0;
  #version: string | undefined;
  /** When each life crashed, by its number. */
  readonly crashes = new Map<number, number>();
  /** They outlast its lives, but for a crash and a release. */
  readonly #sockets = new Set<ServerSocket>();
  /** Whether the alarm runs. */
  #isRunning = false;
  #timer: Timer | undefined;
  #usedAt = 0;

  constructor(objects: Objects, world: Surroundings, name: string) {
    [this.#objects, this.#world, this.name] = [objects, world, name];
    this.#random = world.random("object", name);
    this.#latency = world.latency ?? LATENCY;
    this.#skew = world.skew ?? (() => 0);
    this.storage = new Storage(() => {
      this.schedule();
      const { life } = this;
      world.clock.after(this.#random.delay(0, this.#latency.durable), () => life?.isAlive && this.storage.commit());
    });
  }

  /** Runs a method. It fails when the object crashes before its answer leaves. */
  call(method: string, parameters: unknown[]): Promise<unknown> {
    const life = this.#wake();
    return new Promise((resolve, reject) => {
      const end = () => reject(disconnected());
      life.running.add(end);
      const answer = (run: () => void) =>
        this.#out(life, () => {
          life.running.delete(end);
          run();
        });
      const { [method]: run } = life.endpoint;
      // A version without the handlers of sockets does nothing, and one without a method fails.
      const isMissing = run === undefined && !method.startsWith("webSocket");
      const missing = () => Promise.reject(new TypeError(`The object has no ${method}.`));
      Promise.resolve(isMissing ? missing() : run?.apply(life.endpoint, parameters)).then(
        (result) => answer(() => resolve(result instanceof Response ? result : structuredClone(result))),
        (error) => answer(() => reject(error)),
      );
    });
  }

  /** Sets the timer of the alarm. The end of a run sets it too. */
  schedule(): void {
    const { clock } = this.#world;
    clock.cancel(this.#timer);
    const { alarm } = this.storage;
    if (alarm === null || this.#isRunning || alarm > this.#objects.until) return;
    this.#timer = clock.after(alarm - clock.now - this.#skew(), () => void this.#fire());
  }

  async #fire(): Promise<void> {
    const { alarm } = this.storage;
    if (alarm === null || this.#isRunning) return;
    this.storage.alarm = null;
    if (this.#meets("alarm lost")) {
      this.#objects.lost.add(this.name);
      this.storage.commit();
      return;
    }
    this.#isRunning = true;
    const life = this.#wake();
    await life.endpoint.alarm().catch((error: Error) => {
      this.#objects.failures.push(`alarm() of ${this.name} throws ${error.message}`);
    });
    this.#out(life, () => {
      this.#isRunning = false;
      this.storage.commit();
      this.schedule();
    });
  }

  /** Ends the present life, wherever it is. Its alarm runs again. */
  crash(): void {
    const { life } = this;
    if (life === undefined || !life.isAlive) return;
    life.isAlive = false;
    this.crashes.set(life.number, this.#world.clock.now);
    this.storage.crash();
    this.#endSockets();
    for (const end of life.running) end();
    if (this.#isRunning) this.storage.alarm ??= this.#world.clock.now + RETRY;
    this.#isRunning = false;
    this.storage.commit();
    this.schedule();
  }

  #endSockets(): void {
    for (const socket of this.#sockets) {
      socket.isOpen = false;
      socket.client.arrive(BROKEN);
    }
    this.#sockets.clear();
  }

  #meets(fault: Parameters<Faults["meets"]>[1]): boolean {
    return this.#world.faults.meets(this.#random, fault);
  }

  #wake(): Life {
    const { clock, versions } = this.#world;
    const isIdle = clock.now > this.#usedAt + IDLE;
    // Clients that come back would keep an object without the live feed awake. A gradual release ends.
    const isReleased = versions.length > 1 && this.name.startsWith(HUB) && this.#random.chance(RELEASED);
    const ends = () => isReleased || (isIdle && this.#meets("object evicted"));
    if (!this.#isRunning && this.life?.running.size === 0 && ends()) {
      this.storage.commit();
      this.life.isAlive = false;
    }
    this.#usedAt = clock.now;
    if (!this.life?.isAlive) this.life = this.#start();
    return this.life;
  }

  #start(): Life {
    const { clock, receivers, versions, variables, path, keys, onError, onRelease } = this.#world;
    const random = this.#random;
    const number = ++this.lives;
    const life: Life = { number, location: 0, isAlive: true, endpoint: undefined as never, running: new Set() };
    const fetch = (url: string, init: Sent) => this.#fetch(life, url, init);
    const surroundings = {
      clock,
      random,
      skew: this.#skew,
      isAlive: () => life.isAlive,
      onError,
      onWarning: (line: string) => receivers.hear(this.name, line),
      fetch: fetch as never,
    };
    // A version from before the webhooks runs no objects.
    const programs = [random.pick(versions), ...versions].values();
    const workers = programs.map(({ name, program }) => ({ name, ...program(surroundings) }));
    const { name = "", WebhookEndpoint } = workers.find((worker) => worker.WebhookEndpoint !== undefined) ?? {};
    if (WebhookEndpoint === undefined) throw new Error("No version has webhooks");
    if ((this.#version ??= name) !== name) {
      // Another version of the code ends all sockets (Durable Objects documentation, WebSockets).
      this.#endSockets();
      onRelease?.(name, this.storage.kept(clock.now));
    }
    this.#version = name;
    const way = path(life, random);
    const deliver = (run: () => void) => this.#step(life, run);
    const DB = d1Of({
      ...way,
      deliver,
      failureOf: (writes) => {
        if (life.isAlive) this.storage.commit();
        return way.failureOf(writes);
      },
      // The calls and alarms of its life are invocations of their own.
      maxStatements: Infinity,
    });
    const state = {
      storage: this.storage,
      acceptWebSocket: (socket: ServerSocket) => this.#accept(socket),
      // Also those whose client has not answered the close.
      getWebSockets: () => [...this.#sockets],
      setWebSocketAutoResponse: () => {},
      getWebSocketAutoResponseTimestamp: () => null,
    };
    const API_KEYS = keys?.(life, { ...way, deliver }, random);
    life.endpoint = new WebhookEndpoint(state, { ...variables, DB, API_KEYS }) as Endpoint;
    return life;
  }

  #accept(socket: ServerSocket): void {
    const { clock } = this.#world;
    this.#sockets.add(socket);
    socket.leave = (run) => {
      // In their order.
      socket.left = Math.max(socket.left, clock.now + this.#random.delay(0, this.#latency.durable));
      const { life } = this;
      if (life === undefined) return;
      // While it waits, the object is not idle.
      const waits = () => {};
      life.running.add(waits);
      const leave = () => {
        life.running.delete(waits);
        run();
      };
      this.#out(life, leave, socket.left - clock.now);
    };
    socket.client.onClose = (code) => {
      if (!this.#sockets.delete(socket)) return;
      this.call("webSocketClose", [socket, code]).catch(() => {});
    };
    clock.after(UNHEARD, () => {
      if (!socket.client.isHeard) socket.client.close(BROKEN, 0);
    });
  }

  /** A message leaves, when everything before it is durable. */
  #out(life: Life, run: () => void, after = this.#random.delay(0, this.#latency.durable)): void {
    this.#world.clock.after(after, () => {
      this.#step(life, () => {
        this.storage.commit();
        this.#step(life, run);
      });
    });
  }

  #step(life: Life, run: () => void): void {
    if (!life.isAlive) return;
    this.#usedAt = this.#world.clock.now;
    if (this.#meets("object crashes")) this.crash();
    else run();
  }

  #fetch(life: Life, url: string, { headers, body, signal }: Sent): Promise<Response> {
    const { clock, receivers } = this.#world;
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => this.#step(life, () => reject(error));
      signal.addEventListener("abort", () => fail(signal.reason as Error));
      this.#out(life, () => {
        clock.after(this.#random.delay(Math.min(1, this.#latency.way), this.#latency.way), () => {
          const request = { name: this.name, life: life.number, url, headers, body };
          const answered = receivers.receive(request, this.#random);
          if (signal.aborted) answered.giveUp();
          signal.addEventListener("abort", answered.giveUp);
          clock.after(answered.after, () => {
            const isLost = this.#meets("response to a delivery lost");
            const isHeard = life.isAlive && !signal.aborted && !isLost;
            const response = answered.end(isHeard);
            if (response === undefined || isLost) fail(new TypeError("Network connection lost."));
            else this.#step(life, () => resolve(response));
          });
        });
      });
    });
  }
}

/** The Durable Objects of the service, by their names. */
export class Objects {
  readonly #world: Surroundings;
  readonly #all = new Map<string, Hosted>();
  /** What the platform would not forgive. */
  readonly failures: string[] = [];
  /** Objects that lost an alarm. */
  readonly lost = new Set<string>();
  /** No alarm runs after this time. */
  until = Infinity;

  constructor(world: Surroundings) {
    this.#world = world;
  }

  /** The binding of an isolate, or of the hourly job. */
  binding({ delay, deliver }: Pick<Path, "delay" | "deliver">, random: Random, onFailure = () => {}): object {
    const { clock, faults } = this.#world;
    const call = (name: string, method: string, parameters: unknown[]) =>
      new Promise((resolve, reject) => {
        const [isLost, isUnanswered] = [
          faults.meets(random, "call to an object lost"),
          faults.meets(random, "answer of an object lost"),
        ];
        const fail = (error: Error) =>
          clock.after(delay(), () => {
            onFailure();
            deliver(() => reject(error));
          });
        clock.after(delay(), () => {
          const answer = isLost ? Promise.reject(disconnected()) : this.call(name, method, parameters);
          const back = (result: unknown) => {
            // What the object uses has failed.
            if (result instanceof Response && result.status === 503) onFailure();
            if (isUnanswered) fail(disconnected());
            else clock.after(delay(), () => deliver(() => resolve(result)));
          };
          answer.then(back, fail);
        });
      });
    const get =
      (name: string, method: string) =>
      (...parameters: unknown[]) =>
        call(name, method, method === "fetch" ? [new Request(...(parameters as [string, RequestInit]))] : parameters);
    return { getByName: (name: string) => new Proxy({}, { get: (_, method) => get(name, String(method)) }) };
  }

  call(name: string, method: string, parameters: unknown[]): Promise<unknown> {
    return this.#hosted(name).call(method, parameters);
  }

  livesOf(name: string): Pick<Hosted, "lives" | "crashes"> {
    return this.#hosted(name);
  }

  storageOf(name: string): Storage {
    return this.#hosted(name).storage;
  }

  /** Lets alarms run until a time. */
  runUntil(time: number): void {
    this.until = time;
    for (const hosted of this.#all.values()) hosted.schedule();
  }

  /** A release ends every object. */
  crash(): void {
    for (const hosted of this.#all.values()) hosted.crash();
  }

  close(): void {
    for (const { storage } of this.#all.values()) storage.close();
  }

  #hosted(name: string): Hosted {
    const known = this.#all.get(name) ?? new Hosted(this, this.#world, name);
    this.#all.set(name, known);
    return known;
  }
}
