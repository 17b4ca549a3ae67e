// What a request costs with real storage: D1 (SQLite) and KV in workerd, by Miniflare. Their simulation costs many times what the
// Workers do, so it is round trips, rows and differences that count here, not the milliseconds.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { generateKey } from "../src/auth/key-format.ts";
import { keyRecordName } from "../src/auth/key-record.ts";
import type { Candidate } from "./candidates.ts";
import {
  type BenchRequest,
  connections,
  CREATE,
  GET,
  INVALID,
  KEY,
  KEY_NAME,
  KEY_RECORD,
  LIST,
  LIST_100,
  repeat,
  send,
  UNAUTHORIZED,
} from "./requests.ts";
import { type Spread, spread } from "./spread.ts";

const ROOT = join(import.meta.dirname, "..");

/** A candidate with storage of its own. */
class Service {
  readonly port: number;
  readonly #miniflare: Miniflare;
  readonly #logs: Record<string, unknown>[];

  private constructor(port: number, miniflare: Miniflare, logs: Record<string, unknown>[]) {
    this.port = port;
    this.#miniflare = miniflare;
    this.#logs = logs;
  }

  /** Starts it with so many animals, one in `RARE` of them sold. */
  static async start({ script }: Candidate, animals: number, delay?: number): Promise<Service> {
    const logs: Record<string, unknown>[] = [];
    const worker = { type: "ESModule", path: "worker.js", contents: script } as const;
    const wrapper = {
      type: "ESModule",
      path: "delay.js",
      contents: readFileSync(join(import.meta.dirname, "delay.js"), "utf8"),
    } as const;
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        handleStructuredLogs({ message }) {
          if (message.startsWith("{")) logs.push(JSON.parse(message));
        },
        workers: [
          {
            name: "petstore",
            modules: delay === undefined ? [worker] : [wrapper, worker],
            compatibilityDate: "2026-10-20",
            bindings: { ENVIRONMENT: "production", DELAY_MILLISECONDS: delay ?? 0 },
            d1Databases: { DB: "pets" },
            kvNamespaces: { API_KEYS: "keys" },
            ratelimits: { RATE_LIMITER: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } } },
          },
        ],
      }),
    );
    const { port } = await miniflare.ready;
    const service = new Service(Number(port), miniflare, logs);
    await service.grant(KEY_NAME);
    const database = await miniflare.getD1Database("DB", "petstore");
    // As wrangler notes them: SQLite reads the last ids of all tables to find that of one.
    await database.prepare("CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)").run();
    await database.prepare("INSERT INTO d1_migrations (name) VALUES ('0000.sql'), ('0001.sql')").run();
    const migrations = readdirSync(join(ROOT, "drizzle")).filter((name) => name.endsWith(".sql"));
    for (const name of migrations.toSorted()) {
      for (const sql of readFileSync(join(ROOT, "drizzle", name), "utf8").split("--> statement-breakpoint")) {
        await database.prepare(sql).run();
      }
    }
    for (let first = 1; first <= animals; first += FILL_BATCH) {
      await database
        .prepare(FILL)
        .bind(first, Math.min(animals, first + FILL_BATCH - 1))
        .run();
    }
    return service;
  }

  /** The cursor that it hands out for the page after this id, of which it must not have an animal yet. */
  async cursorAfter(id: number): Promise<string> {
    const database = await this.#miniflare.getD1Database("DB", "petstore");
    const insert = database.prepare("INSERT INTO pets (id, name, category_id, status) VALUES (?, 'x', 1, 'pending')");
    await database.batch([insert.bind(id), insert.bind(id + 1)]);
    const url = `http://127.0.0.1:${this.port}/v1/pets?status=pending&limit=1`;
    const { headers } = await fetch(url, { headers: { Authorization: `Bearer ${KEY}` } });
    const cursor = /cursor=([\w-]+)/.exec(headers.get("Link") ?? "")?.[1];
    if (cursor === undefined) throw new Error("no Link to a next page");
    return cursor;
  }

  /** Lets the key with this name in KV do everything. */
  async grant(name: string): Promise<void> {
    const keys = await this.#miniflare.getKVNamespace("API_KEYS", "petstore");
    await keys.put(name, KEY_RECORD);
  }

  /** Rows read and written by the next request, as its log line tells. */
  async rowsOf(request: BenchRequest): Promise<{ read: number; written: number }> {
    this.#logs.length = 0;
    await send(connections(1), this.port, request);
    // The line comes after the answer, over another connection.
    const deadline = performance.now() + 5_000;
    while (this.#logs.length === 0 && performance.now() < deadline) await new Promise(setImmediate);
    const [line] = this.#logs;
    if (line === undefined) throw new Error(`${request.name}: no log line`);
    return { read: Number(line["d1RowsRead"] ?? 0), written: Number(line["d1RowsWritten"] ?? 0) };
  }

  async stop(): Promise<void> {
    await this.#miniflare.dispose();
  }
}

const FILL_BATCH = 100_000;
/** One animal in this many is sold; all others are available. */
const RARE = 10_000;
const FILL = `WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
  INSERT INTO pets (id, name, category_id, status)
  SELECT i, 'Animal ' || i, i % 100, iif(i % ${RARE} = 0, 'sold', 'available') FROM n`;

const THROUGHPUT_REQUESTS = 600;
const THROUGHPUT_CONNECTIONS = 8;
const LATENCY_SAMPLES = 150;
/** Milliseconds from one request to the next: an open loop, slow enough that none waits for another. */
const LATENCY_INTERVAL = 12;

export const LOAD_METHOD = `1,000 animals. Throughput: ${THROUGHPUT_REQUESTS} requests over ${THROUGHPUT_CONNECTIONS} connections. Latency: ${LATENCY_SAMPLES} requests of each kind, one every ${LATENCY_INTERVAL} ms to one after the other of all.`;

export interface UnderLoad {
  candidate: Candidate;
  /** One for each request of `LOAD_REQUESTS`. */
  requestsPerSecond: number[];
  latency: Spread[];
}
export const LOAD_REQUESTS = [LIST, CREATE, GET];

/** Throughput when asked as fast as it answers, and latency in milliseconds at a low rate, of each candidate. */
export async function measureUnderLoad(candidates: Candidate[]): Promise<UnderLoad[]> {
  const found = [];
  for (const candidate of candidates) {
    const service = await Service.start(candidate, 1_000);
    found.push({
      candidate,
      service,
      requestsPerSecond: [] as number[],
      samples: LOAD_REQUESTS.map((): number[] => []),
    });
  }
  const agent = connections(THROUGHPUT_CONNECTIONS);
  for (const request of LOAD_REQUESTS) {
    for (const { service, requestsPerSecond } of found) {
      await repeat(agent, service.port, request, 100);
      const start = performance.now();
      await repeat(agent, service.port, request, THROUGHPUT_REQUESTS);
      requestsPerSecond.push((THROUGHPUT_REQUESTS * 1_000) / (performance.now() - start));
    }
  }
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let sample = 0; sample < LATENCY_SAMPLES; sample++) {
    for (const [r, request] of LOAD_REQUESTS.entries()) {
      for (const { service, samples } of found) {
        await until(begin + pending.length * LATENCY_INTERVAL);
        pending.push(send(agent, service.port, request).then((milliseconds) => void samples[r]?.push(milliseconds)));
      }
    }
  }
  await Promise.all(pending);
  agent.destroy();
  await Promise.all(found.map(({ service }) => service.stop()));
  return found.map(({ candidate, requestsPerSecond, samples }) => ({
    candidate,
    requestsPerSecond,
    latency: samples.map(spread),
  }));
}

async function until(time: number): Promise<void> {
  const left = time - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}

const DELAY = 50;
const TRIP_SAMPLES = 9;
const NEVER_SEEN: BenchRequest = { ...LIST, name: "list, key not seen in 30 s" };
const WITH_IDEMPOTENCY_KEY: BenchRequest = {
  ...CREATE,
  name: "create with Idempotency-Key",
  headers: { ...CREATE.headers, "Idempotency-Key": "one" },
};
const ALL_OPERATIONS: BenchRequest[] = [
  LIST,
  LIST_100,
  { ...LIST, name: "list by status", path: "/v1/pets?status=available" },
  CREATE,
  WITH_IDEMPOTENCY_KEY,
  { ...WITH_IDEMPOTENCY_KEY, name: "create, repeated" },
  GET,
  { ...GET, name: "get, no int64", path: "/v1/pets/rex", status: 404 },
  INVALID,
  { ...UNAUTHORIZED, name: "401, not a key", key: "rex" },
  { ...UNAUTHORIZED, name: "401, unknown key" },
  NEVER_SEEN,
];

export interface OperationCost {
  name: string;
  /** Latency over that of one delayed round trip. */
  roundTrips: number;
  rowsRead: number;
  rowsWritten: number;
}

/** Round trips to storage, by the latency when each of them takes 50 ms more, and rows, by the service's own log. */
export async function measureOperations(candidate: Candidate): Promise<OperationCost[]> {
  const near = await Service.start(candidate, 1_000);
  const far = await Service.start(candidate, 1_000, DELAY);
  const agent = connections(1);
  const costs = [];
  for (const [o, operation] of ALL_OPERATIONS.entries()) {
    const times: { near: number[]; far: number[] } = { near: [], far: [] };
    for (let sample = 0; sample < TRIP_SAMPLES; sample++) {
      const request = await variant(operation, sample, [near, far]);
      times.near.push(await send(agent, near.port, request));
      times.far.push(await send(agent, far.port, request));
    }
    const { read, written } = await near.rowsOf(await variant(operation, TRIP_SAMPLES + o, [near, far]));
    const trips = (spread(times.far).median - spread(times.near).median) / DELAY;
    costs.push({ name: operation.name, roundTrips: trips, rowsRead: read, rowsWritten: written });
  }
  agent.destroy();
  await Promise.all([near.stop(), far.stop()]);
  return costs;
}

/** The same operation for the first time, where that is what makes it what it is. */
async function variant(operation: BenchRequest, sample: number, services: Service[]): Promise<BenchRequest> {
  if (operation === WITH_IDEMPOTENCY_KEY) {
    return { ...operation, headers: { ...operation.headers, "Idempotency-Key": `first-${sample}` } };
  }
  if (operation !== NEVER_SEEN) return operation;
  const key = generateKey("production");
  const name = await keyRecordName(key);
  for (const service of services) await service.grant(name);
  return { ...operation, key };
}

/** No larger than the smallest database, so that all answers are alike. */
const PAGE_SIZE = 10;
const PAGE_SAMPLES = 300;
const PAGE_WARM_UP = 100;
const SIZES = [10, 1_000, 1_000_000];
const LARGEST = Math.max(...SIZES);

export interface PageCost {
  animals: number;
  page: string;
  milliseconds: Spread;
  rowsRead: number;
}

/** The list, from databases of several sizes, and in the largest from its depth and for a rare status. */
export async function measurePages(candidate: Candidate): Promise<PageCost[]> {
  const services = new Map<number, Service>();
  for (const size of SIZES) services.set(size, await Service.start(candidate, size));
  const largest = services.get(LARGEST);
  if (largest === undefined) throw new Error("no service");
  const agent = connections(1);
  const empty = await Service.start(candidate, 0);
  const middle = await empty.cursorAfter(LARGEST / 2);
  await empty.stop();
  const page = (animals: number, name: string, query = "") => ({
    animals,
    name,
    request: { ...LIST, path: `/v1/pets?limit=${PAGE_SIZE}${query}` },
    service: services.get(animals) ?? largest,
    times: [] as number[],
  });
  const pages = SIZES.map((animals) => page(animals, "first"));
  const deepPages = [
    page(LARGEST, "first"),
    page(LARGEST, "from the middle", `&cursor=${middle}`),
    page(LARGEST, `first of a status of 1 in ${RARE}`, "&status=sold"),
    page(LARGEST, "from the middle of that status", `&status=sold&cursor=${middle}`),
  ];
  // Apart, so that each process is asked as often as the others of its comparison.
  for (const group of [pages, deepPages]) {
    for (let sample = -PAGE_WARM_UP; sample < PAGE_SAMPLES; sample++) {
      for (const { request, service, times } of group) {
        const milliseconds = await send(agent, service.port, request);
        if (sample >= 0) times.push(milliseconds);
      }
    }
  }
  const costs = [];
  for (const { animals, name, request, service, times } of [...pages, ...deepPages]) {
    const { read } = await service.rowsOf(request);
    costs.push({ animals, page: name, milliseconds: spread(times), rowsRead: read });
  }
  agent.destroy();
  await Promise.all([...services.values()].map((service) => service.stop()));
  return costs;
}
