import { type Module, startBundles } from "../scripts/bundles.ts";
import { applyMigrations } from "../scripts/migrations.ts";
import type { Candidate } from "./candidates.ts";
import { type BenchRequest, KEY, send } from "./requests.ts";

export type Instance = Awaited<ReturnType<typeof startInstance>>;

/**
 * Starts a candidate with so many animals in a D1 (SQLite) and a KV of its own, in workerd. Their simulation costs many times what the
 * Workers do, so it is rows, bytes and differences that count here, not the milliseconds.
 *
 * @param before modules that stand before the Worker, the first as the entry.
 */
export async function startInstance({ script, migrations }: Candidate, animals: number, before: Module[] = []) {
  const lines: Record<string, unknown>[] = [];
  const modules: Module[] = [...before, { type: "ESModule", path: "worker.js", contents: script }];
  const bundles = await startBundles({ petstore: modules }, KEY, (line) => void lines.push(line));
  await applyMigrations(bundles.database, migrations);
  await fill(bundles.database, ANIMALS, animals);

  /** Rows that the service reads for a request, as its log line tells. */
  async function rowsRead(request: BenchRequest): Promise<number> {
    const id = (await send(bundles.port, request)).headers.get("X-Request-Id");
    // The line comes after the answer, by another way.
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

/** Inserts so many rows, a batch at a time. */
export async function fill(database: D1Database, insert: string, rows: number): Promise<void> {
  const numbers = "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
  for (let first = 1; first <= rows; first += FILL_BATCH) {
    const last = Math.min(rows, first + FILL_BATCH - 1);
    await database.prepare(`${numbers} ${insert}`).bind(first, last).run();
  }
}

/** One animal in so many is sold, and one is of `RARE_CATEGORY`. One order in so many is placed, and one is a cancelled one of `RARE_PET`. */
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
