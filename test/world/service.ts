import tools from "../../public/tools.json" with { type: "json" };
import { callFor, plainOf } from "./agents.ts";
import type { Clock } from "./clock.ts";
import { d1Of, type Path } from "./d1.ts";
import type { Database } from "./database.ts";
import type { Faults } from "./faults.ts";
import type { Exchange, History } from "./history.ts";
import type { Namespace } from "./kv.ts";
import type { Objects } from "./objects.ts";
import type { Program } from "./program.ts";
import type { Random, RandomOf } from "./random.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

/** The bundle of `src/index.ts`. */
export interface Worker {
  default: {
    fetch: (request: Request, env: object, context: object) => Response | Promise<Response>;
    scheduled: (controller: object, env: object) => Promise<void>;
  };
  /** Undefined in a version from before the webhooks. */
  WebhookEndpoint?: new (state: object, env: object) => object;
}

/** A version of the service that is deployed. */
export interface Version {
  /** Its commit, or `PRESENT`. */
  name: string;
  program: Program<Worker>;
  /** Whether small stores reach its bounds of a search. */
  hasSmallBounds?: boolean;
}

interface Isolate {
  name: string;
  version: string;
  hasSmallBounds: boolean;
  worker: Worker;
  location: number;
  isAlive: boolean;
  /** The secret of customer tokens of its version. */
  secret: string;
  /** Milliseconds that its clock is ahead. */
  skew: number;
  /** Ends the requests that it has not responded to. */
  running: Set<() => void>;
}

/** The parts of the world that isolates use. */
export interface Platform {
  clock: Clock;
  database: Database;
  keys: Namespace;
  faults: Faults;
  history: History;
  /** The variables of wrangler.toml that differ between worlds. */
  variables: { READ_MAX_AGE: string; READS: string; EVENT_DAYS: string; LIVE_OBJECTS: string };
  random: RandomOf;
}

export const LOCATIONS = 3;
const ISOLATES_PER_LOCATION = 2;
/** The share of the requests after which an isolate ends, without a fault. */
const ENDS = 0.001;
/** The share of the requests that read from another replica than the nearest. */
const ELSEWHERE = 0.1;
/** Milliseconds by which a clock differs, at most. */
export const LARGEST_SKEW = 2_000;
/** Milliseconds of one way on the network. */
const WAY = { least: 1, most: 120, slow: 40_000 };
/** Milliseconds of one way to the database, at most. */
const SLOWEST = 25_000;

/** The deployed service: isolates in several locations, which come and go. */
export class Service {
  readonly #platform: Platform;
  readonly #versions: readonly Version[];
  readonly #isolates: Isolate[] = [];
  #started = 0;
  /** Until when the database refuses everything. */
  overloadedUntil = 0;
  /** The secrets of customer tokens, and since when each was that of the deployed version. */
  readonly secrets: { secret: string; since: number }[] = [];
  /** Undefined until they are set. */
  objects: Objects | undefined;
  /** Until when the storage is slow. */
  slowUntil = 0;

  constructor(platform: Platform, versions: readonly Version[]) {
    this.#platform = platform;
    this.#versions = versions;
    this.useSecret("the first secret of this world, of 32 characters");
  }

  /** The secret of the deployed version. */
  get secret(): string {
    return (this.secrets.at(-1) as { secret: string }).secret;
  }

  /** Deploys a version with this secret. Requests in its isolates go on, and later ones meet others. */
  useSecret(secret: string): void {
    this.secrets.push({ secret, since: this.#platform.clock.now });
  }

  /**
   * Sends a request, through a network that may lose it or its response.
   *
   * @throws TypeError when it does, as `fetch` would.
   */
  send(exchange: Exchange, location: number, random: Random): Promise<Response> {
    const { clock, faults, history } = this.#platform;
    history.exchanges.push(exchange);
    history.events.push({ kind: "request", at: clock.now, exchange });
    const isLost = faults.meets(random, "request lost");
    const isUnanswered = faults.meets(random, "response lost");
    const longest = faults.meets(random, "slow network") ? WAY.slow : WAY.most;
    return new Promise((resolve, reject) => {
      const lose = () => {
        history.events.push({ kind: "response", at: clock.now, exchange, isLost: true });
        const code = "ECONNRESET";
        reject(Object.assign(new TypeError("fetch failed"), { cause: { code } }));
      };
      clock.after(random.delay(WAY.least, longest), () => {
        if (isLost) return lose();
        const respond = (response: Response) => {
          history.events.push({ kind: "response", at: clock.now, exchange, isLost: isUnanswered });
          clock.after(random.delay(WAY.least, longest), () => {
            if (isUnanswered)
              return reject(Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNRESET" } }));
            exchange.receivedAt = clock.now;
            resolve(response);
          });
        };
        void this.#run(this.#isolateAt(location, random), exchange, random, respond, lose);
      });
    });
  }

  /** Runs the hourly job in some isolate. */
  async runJob(random: Random): Promise<void> {
    const { history, clock, variables } = this.#platform;
    const isolate = this.#isolateAt(random.between(0, LOCATIONS - 1), random);
    const path = this.#path(isolate, undefined, random);
    let remembered: Remembered[] = [];
    const DB = d1Of({
      ...path,
      failureOf: (writes) => {
        remembered = rememberedIn(path.database, clock.now);
        return path.failureOf(writes);
      },
      onTrip: (execution) => {
        if (execution === undefined) return;
        const left = new Set(rememberedIn(path.database, clock.now).map(({ apiKeyId, key }) => `${apiKeyId} ${key}`));
        const forgotten = remembered.filter(({ apiKeyId, key }) => !left.has(`${apiKeyId} ${key}`));
        const more = { forgotten, state: execution.after };
        history.occurred(clock.now, `the hourly job forgets ${forgotten.length} keys, state ${execution.after}`, more);
      },
    });
    await isolate.worker.default.scheduled({}, { ...variables, DB, ...this.#objectsFor(path, random) }).catch(() => {});
  }

  /** Sets the clock of an isolate to another time. */
  setClock(random: Random): void {
    const isolate = this.#isolates.length > 0 ? random.pick(this.#isolates) : undefined;
    if (isolate !== undefined) isolate.skew = random.between(-LARGEST_SKEW, LARGEST_SKEW);
  }

  #isolateAt(location: number, random: Random): Isolate {
    const place = random.between(0, ISOLATES_PER_LOCATION - 1);
    const index = location * ISOLATES_PER_LOCATION + place;
    const ends = random.chance(ENDS);
    const present = this.#isolates[index];
    if (present !== undefined && ends) this.#end(present);
    if (present?.isAlive && present.secret === this.secret) return present;
    return (this.#isolates[index] = this.#start(location));
  }

  #start(location: number): Isolate {
    const { clock } = this.#platform;
    const name = `isolate ${++this.#started}`;
    const random = this.#platform.random(name);
    const version = random.pick(this.#versions);
    const { secret } = this;
    const started: Isolate = {
      name,
      version: version.name,
      hasSmallBounds: version.hasSmallBounds ?? false,
      location,
      isAlive: true,
      secret,
      running: new Set(),
      skew: random.between(-LARGEST_SKEW, LARGEST_SKEW),
      worker: undefined as never,
    };
    started.worker = version.program({
      clock,
      random,
      skew: () => started.skew,
      isAlive: () => started.isAlive,
      onError: (line) => this.errors.push(line),
    });
    return started;
  }

  /** The lines of errors in the log. They have stacks, so that they are no part of the history. */
  readonly errors: string[] = [];

  #end(isolate: Isolate): void {
    isolate.isAlive = false;
    for (const lose of isolate.running) lose();
    isolate.running.clear();
  }

  async #run(
    isolate: Isolate,
    exchange: Exchange,
    random: Random,
    respond: (response: Response) => void,
    lose: () => void,
  ): Promise<void> {
    const { clock, faults } = this.#platform;
    const { path, method, headers, body = null } = exchange;
    exchange.isolate = isolate.name;
    exchange.version = isolate.version;
    exchange.hasSmallBounds = isolate.hasSmallBounds;
    isolate.running.add(lose);
    if (faults.meets(random, "isolate killed")) {
      clock.after(random.delay(0, WAY.most), () => this.#end(isolate));
    }
    const request = exchange.isTool
      ? callFor(exchange)
      : new Request(`https://petstore.example${path}`, { method, headers, body });
    const answer = await isolate.worker.default.fetch(request, this.#bindings(isolate, exchange, random), {
      waitUntil: () => {},
    });
    const whole = await answer.text();
    const [response, text] = exchange.isTool ? plainOf(exchange, answer, whole) : [answer, whole];
    if (!isolate.isAlive) return;
    isolate.running.delete(lose);
    exchange.respondedAt = clock.now;
    exchange.status = response.status;
    exchange.responseHeaders = response.headers;
    exchange.text = text;
    const isSocket = response.status === 101;
    respond(isSocket ? response : new Response([204, 304].includes(response.status) ? null : text, response));
  }

  /** The way to the database, for the transactions of a request or of the job. */
  #path(isolate: Pick<Isolate, "location" | "isAlive">, exchange: Exchange | undefined, random: Random): Path {
    const { clock, database, faults, history } = this.#platform;
    return {
      clock,
      database,
      // Mostly the nearest, and any other when it is busy.
      replica: (isolate.location + (random.chance(ELSEWHERE) ? 1 : 0)) % Math.max(1, database.replicas),
      delay: () =>
        faults.meets(random, "slow database") || clock.now < this.slowUntil
          ? random.delay(100, SLOWEST)
          : random.delay(0.2, 15),
      deliver: (run) => {
        if (isolate.isAlive) run();
      },
      goesFurther: () => random.chance(0.5),
      failureOf: (writes) =>
        clock.now < this.overloadedUntil
          ? { when: "before", message: "D1_ERROR: D1 DB is overloaded. Requests queued for too long." }
          : faults.ofTransaction(random, writes),
      onTrip: (execution, failure) => {
        if (exchange === undefined) return;
        const { instance, before = 0, after = 0 } = execution ?? {};
        const trip = { kind: "trip" as const, at: clock.now, exchange, instance, before, after, failure };
        exchange.trips.push(trip);
        history.events.push(trip);
      },
    };
  }

  /** The way of a Durable Object, and of what follows a response. What it changes belongs to no request. */
  pathOf(life: Pick<Isolate, "location" | "isAlive">, random: Random): Path {
    const { clock, history } = this.#platform;
    const onTrip: Path["onTrip"] = (execution) => {
      if (execution === undefined || execution.before === execution.after) return;
      history.occurred(clock.now, `no request makes state ${execution.after}`, { state: execution.after });
    };
    return { ...this.#path(life, undefined, random), onTrip };
  }

  #objectsFor(path: Path, random: Random, onFailure?: () => void): object {
    return { WEBHOOKS: this.objects?.binding(path, random, onFailure) };
  }

  /** The binding of the key store. */
  keysOf(
    { location }: Pick<Isolate, "location">,
    { delay, deliver }: Pick<Path, "delay" | "deliver">,
    random: Random,
    onFailure = () => {},
  ): object {
    const { clock, faults, keys } = this.#platform;
    const get = (name: string, { cacheTtl }: { cacheTtl: number }) =>
      new Promise((resolve, reject) => {
        const fails = faults.meets(random, "key store fails");
        if (fails) onFailure();
        const answer = () => (fails ? reject(new Error("KV failed")) : resolve(keys.get(location, name, cacheTtl)));
        clock.after(delay(), () => deliver(answer));
      });
    return { get };
  }

  #bindings(isolate: Isolate, exchange: Exchange, random: Random): object {
    const { clock, faults, variables } = this.#platform;
    const path = this.#path(isolate, exchange, random);
    /** A binding that responds after a while, or fails. */
    const call = <Result>(fails: boolean, name: string, result: () => Result) =>
      new Promise<Result>((resolve, reject) => {
        if (fails) exchange.faults.push(name);
        const answer = () => (fails ? reject(new Error(`${name} failed`)) : resolve(result()));
        clock.after(path.delay(), () => path.deliver(answer));
      });
    const limiter = {
      limit: () => {
        const isReached = faults.meets(random, "rate limit reached");
        if (isReached) exchange.faults.push("limit");
        return call(faults.meets(random, "rate limiter fails"), "rate limiter", () => ({ success: !isReached }));
      },
    };
    return {
      ...variables,
      ENVIRONMENT: "production",
      TOKEN_SECRET: isolate.secret,
      LOG_SUCCESS_SHARE: "0",
      VERSION: { id: isolate.version },
      DB: Object.assign(d1Of(path), {
        // What follows a response is no part of its request.
        prepare: (sql: string) => d1Of(this.pathOf(isolate, random)).prepare(sql),
        batch: (statements: D1PreparedStatement[]) => d1Of(this.pathOf(isolate, random)).batch(statements),
      }),
      ...this.#objectsFor(path, random, () => exchange.faults.push("object")),
      API_KEYS: this.keysOf(isolate, path, random, () => exchange.faults.push("KV")),
      ASSETS: {
        // The only one that a call reads.
        fetch: () => call(faults.meets(random, "key store fails"), "assets", () => Response.json(tools)),
      },
      RATE_LIMITER: limiter,
      CUSTOMER_RATE_LIMITER: limiter,
      TOKEN_RATE_LIMITER: limiter,
    };
  }
}

interface Remembered {
  apiKeyId: string;
  key: string;
  /** Seconds. */
  age: number;
}

/** The keys of creations and patches that the database remembers. */
function rememberedIn({ primary }: Database, now: number): Remembered[] {
  const rows = primary.rows("SELECT api_key_id, idempotency_key, created_at FROM idempotency_keys");
  return rows.map((row) => ({
    apiKeyId: String(row["api_key_id"]),
    key: String(row["idempotency_key"]),
    age: Math.floor(now / 1000) - Number(row["created_at"]),
  }));
}
