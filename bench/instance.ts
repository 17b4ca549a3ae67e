import { type Module, startBundles } from "../scripts/bundles.ts";
import { applyMigrations } from "../scripts/migrations.ts";
import type { Candidate } from "./candidates.ts";
import { KEY } from "./requests.ts";

/**
 * Starts a candidate in workerd, with so many animals in its own D1 (SQLite) and KV. Their simulation costs many times as much
 * as the Workers, so rows, bytes and differences are meaningful here, and absolute milliseconds are not.
 *
 * @param before modules in front of the Worker. The first is the entry.
 * @param onLine receives each line of the log.
 */
export async function startInstance(
  { script, migrations }: Pick<Candidate, "script" | "migrations">,
  animals: number,
  before: Module[] = [],
  onLine?: (line: Record<string, unknown>) => void,
) {
  const modules: Module[] = [...before, { type: "ESModule", path: "worker.js", contents: script }];
  const bundles = await startBundles({ petstore: modules }, KEY, onLine);
  await applyMigrations(bundles.database, migrations);
  await fill(bundles.database, ANIMALS, animals);
  return bundles;
}

const FILL_BATCH = 100_000;

/** Inserts so many rows in batches. */
export async function fill(database: D1Database, insert: string, rows: number): Promise<void> {
  // D1 binds a number as a float.
  const numbers = "WITH RECURSIVE n(i) AS (SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
  for (let first = 1; first <= rows; first += FILL_BATCH) {
    const last = Math.min(rows, first + FILL_BATCH - 1);
    await database.prepare(`${numbers} ${insert}`).bind(first, last).run();
  }
}

/** With names of 12 characters. */
const ANIMALS = `INSERT INTO pets (id, name, category_id, status)
  SELECT i, printf('Animal %05d', i), i % 100, 'available' FROM n`;
