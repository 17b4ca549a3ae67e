import { type Module, startBundles } from "../scripts/bundles.ts";
import { applyMigrations } from "../scripts/migrations.ts";
import type { Candidate } from "./candidates.ts";
import { type BenchRequest, KEY, send } from "./requests.ts";

export type Instance = Awaited<ReturnType<typeof startInstance>>;

/**
 * Starts a candidate in workerd, with so many animals in its own D1 (SQLite) and KV. Their simulation costs many times as much
 * as the Workers, so rows, bytes and differences are meaningful here, and absolute milliseconds are not.
 *
 * @param before modules in front of the Worker. The first is the entry.
 */
export async function startInstance(
  { script, migrations }: Pick<Candidate, "script" | "migrations">,
  animals: number,
  before: Module[] = [],
) {
  const lines: Record<string, unknown>[] = [];
  const modules: Module[] = [...before, { type: "ESModule", path: "worker.js", contents: script }];
  const bundles = await startBundles({ petstore: modules }, KEY, (line) => void lines.push(line));
  await applyMigrations(bundles.database, migrations);
  await fill(bundles.database, ANIMALS, animals);

  /** Rows that the service reads for a request, according to its log line. */
  async function rowsRead(request: BenchRequest): Promise<number> {
    const id = (await send(bundles.port, request)).headers.get("X-Request-Id");
    // The line arrives after the response, on another channel.
    const deadline = performance.now() + 5_000;
    while (performance.now() < deadline) {
      const line = lines.find(({ requestId }) => requestId === id);
      if (line !== undefined) return Number(line["d1RowsRead"]);
      await new Promise(setImmediate);
    }
    throw new Error(`${request.name}: no log line`);
  }
  return { ...bundles, rowsRead };
}

const FILL_BATCH = 100_000;

/** Inserts so many rows in batches. */
export async function fill(database: D1Database, insert: string, rows: number): Promise<void> {
  const numbers = "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
  for (let first = 1; first <= rows; first += FILL_BATCH) {
    const last = Math.min(rows, first + FILL_BATCH - 1);
    await database.prepare(`${numbers} ${insert}`).bind(first, last).run();
  }
}

/**
 * One animal in this many is sold, and one is in `RARE_CATEGORY`. One order in this many is placed, and one is a cancelled order
 * of `RARE_PET`.
 */
export const RARE = 10_000;
/** Half of its animals are sold. */
export const RARE_CATEGORY = 100;
export const RARE_PET = 999_999;
/** With names of 12 characters. */
const ANIMALS = `INSERT INTO pets (id, name, category_id, status)
  SELECT i, printf('Animal %05d', i % 100000), iif((i + 1) % ${2 * RARE} < 2, ${RARE_CATEGORY}, i % 100),
    iif(i % ${RARE} = 0, 'sold', 'available') FROM n`;
export const ORDERS = `INSERT INTO orders (id, pet_id, status, created_at, ship_date)
  SELECT i, iif(i % ${RARE} = 1, ${RARE_PET}, i),
    CASE i % ${RARE} WHEN 0 THEN 'placed' WHEN 1 THEN 'cancelled' ELSE 'shipped' END,
    '2026-01-01T00:00:00.000Z', iif(i % ${RARE} > 1, '2026-01-02T00:00:00.000Z', NULL) FROM n`;
