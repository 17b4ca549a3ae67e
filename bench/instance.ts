import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { type Candidate, COMPATIBILITY_DATE } from "./candidates.ts";
import { type BenchRequest, headersOf, KEY, KEY_NAME, KEY_RECORD } from "./requests.ts";

/** One statement, and what D1 answered. */
export interface D1Answer {
  method: "all" | "raw" | "run";
  sql: string;
  values: unknown[];
  answer: unknown;
}

/**
 * A candidate with storage of its own: D1 (SQLite) and KV in workerd, by Miniflare. Their simulation costs many times what the
 * Workers do, so it is round trips, rows and differences that count here, not the milliseconds.
 */
export class Instance {
  readonly port: number;
  readonly #miniflare: Miniflare;
  readonly #logs: Record<string, unknown>[];

  private constructor(port: number, miniflare: Miniflare, logs: Record<string, unknown>[]) {
    this.port = port;
    this.#miniflare = miniflare;
    this.#logs = logs;
  }

  /**
   * Starts it with so many animals, one in `RARE` of them sold, and one in `RARE` of `RARE_CATEGORY`.
   *
   * @param instrument puts instrument.js before the Worker, with a delay in milliseconds for each round trip.
   */
  static async start(
    { script, migrations }: Candidate,
    animals: number,
    instrument?: { delay: number },
  ): Promise<Instance> {
    const logs: Record<string, unknown>[] = [];
    const worker = { type: "ESModule", path: "worker.js", contents: script } as const;
    const instrumentation = {
      type: "ESModule",
      path: "instrument.js",
      contents: readFileSync(join(import.meta.dirname, "instrument.js"), "utf8"),
    } as const;
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        handleStructuredLogs({ message }) {
          if (message.startsWith("{")) logs.push(JSON.parse(message));
        },
        workers: [
          {
            name: "petstore",
            modules: instrument === undefined ? [worker] : [instrumentation, worker],
            compatibilityDate: COMPATIBILITY_DATE,
            bindings: {
              ENVIRONMENT: "production",
              LOG_SUCCESS_SHARE: "1",
              VERSION: { id: "5d9f7c1e-3c0b-4a55-8f6e-2b1d0c9a8e77" },
              DELAY_MILLISECONDS: instrument?.delay ?? 0,
            },
            d1Databases: { DB: "pets" },
            kvNamespaces: { API_KEYS: "keys" },
            ratelimits: { RATE_LIMITER: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } } },
          },
        ],
      }),
    );
    const { port } = await miniflare.ready;
    const instance = new Instance(Number(port), miniflare, logs);
    await instance.grant(KEY_NAME);
    const database = await miniflare.getD1Database("DB", "petstore");
    // As wrangler notes them: SQLite reads the last ids of all tables to find that of one.
    await database.prepare("CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)").run();
    await database.prepare("INSERT INTO d1_migrations (name) VALUES ('0000.sql'), ('0001.sql')").run();
    for (const sql of migrations) await database.prepare(sql).run();
    await fill(database, FILL, animals);
    return instance;
  }

  /** Adds so many orders, all shipped, except that one in `RARE` is placed, and one in `RARE` is a cancelled one of `RARE_PET`. */
  async fillOrders(orders: number): Promise<void> {
    await fill(await this.#miniflare.getD1Database("DB", "petstore"), FILL_ORDERS, orders);
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

  /** Runs one statement on its database. */
  async execute(sql: string): Promise<D1Result> {
    const database = await this.#miniflare.getD1Database("DB", "petstore");
    return database.prepare(sql).run();
  }

  /** In bytes. */
  async databaseSize(): Promise<number> {
    const { meta } = await this.execute("SELECT 1");
    return meta.size_after;
  }

  /** Lets the key with this name in KV do everything. */
  async grant(name: string): Promise<void> {
    const keys = await this.#miniflare.getKVNamespace("API_KEYS", "petstore");
    await keys.put(name, KEY_RECORD);
  }

  /** What D1 answered so far, when it is instrumented. */
  async d1Answers(): Promise<D1Answer[]> {
    const response = await fetch(`http://127.0.0.1:${this.port}/d1-answers`);
    return (await response.json()) as D1Answer[];
  }

  /** Rows read and written by this request, as its log line tells. */
  async rowsOf(request: BenchRequest): Promise<{ read: number; written: number }> {
    const { name, method, path, body } = request;
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: headersOf(request),
      ...(body === undefined ? {} : { body }),
    });
    await answer.arrayBuffer();
    // The line comes after the answer, by another way.
    const deadline = performance.now() + 5_000;
    while (performance.now() < deadline) {
      const line = this.#logs.find(({ requestId }) => requestId === answer.headers.get("X-Request-Id"));
      if (line !== undefined) {
        return { read: Number(line["d1RowsRead"] ?? 0), written: Number(line["d1RowsWritten"] ?? 0) };
      }
      await new Promise(setImmediate);
    }
    throw new Error(`${name}: no log line`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare.dispose();
  }
}

const FILL_BATCH = 100_000;
/** One animal in this many is sold; all others are available. */
export const RARE = 10_000;
/** One animal in `RARE` is of this category, half of them sold. All others are of the categories from 0 to 99. */
export const RARE_CATEGORY = 100;
const CATEGORY = `iif((i + 1) % ${2 * RARE} < 2, ${RARE_CATEGORY}, i % 100)`;
/** One order in `RARE` is of this animal. */
export const RARE_PET = 999_999;
const FILL = `WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
  INSERT INTO pets (id, name, category_id, status)
  SELECT i, 'Animal ' || i, ${CATEGORY}, iif(i % ${RARE} = 0, 'sold', 'available') FROM n`;
const FILL_ORDERS = `WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
  INSERT INTO orders (id, pet_id, status, created_at, ship_date)
  SELECT i, iif(i % ${RARE} = 1, ${RARE_PET}, i),
    CASE i % ${RARE} WHEN 0 THEN 'placed' WHEN 1 THEN 'cancelled' ELSE 'shipped' END,
    '2026-01-01T00:00:00.000Z', iif(i % ${RARE} > 1, '2026-01-02T00:00:00.000Z', NULL) FROM n`;

/** Inserts so many rows, a batch at a time. */
async function fill(database: D1Database, insert: string, rows: number): Promise<void> {
  for (let first = 1; first <= rows; first += FILL_BATCH) {
    await database
      .prepare(insert)
      .bind(first, Math.min(rows, first + FILL_BATCH - 1))
      .run();
  }
}
