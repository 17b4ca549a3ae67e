// Measures a count of the animals by their number, and simulates how much of the database GET /v1/store/inventory takes.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PRICES } from "../scripts/docs/costs.ts";
import type { Statement } from "../src/db/statement.ts";
import { COUNT_MILLISECONDS, COUNTED_A_SECOND, renewCount, selectCount } from "../src/orders/get-inventory.ts";
import { costOf } from "../test/costs.ts";
import { table } from "./report.ts";
import { spread } from "./spread.ts";

const MIGRATIONS = join(import.meta.dirname, "../drizzle");
const SIZES = [1_000, 1_000_000, 10_000_000];
const ISOLATES = [1, 25, 250];
const SAMPLES = 5;
/** Seconds that are simulated, and of a month. Each isolate is asked once a second. */
const DAY = 24 * 3_600;
const MONTH = 30 * DAY;
/** Rows of a count that another isolate made, and of one's own beside those of the animals (test/cost.test.ts). */
const FRESH_ROWS = costOf("an inventory that another isolate counted").rowsRead;
const MORE_ROWS = costOf("an inventory of 602 animals").rowsRead - 602;
/** The statement without the shared row: each isolate counted once in ten seconds. */
const ALONE: Statement<unknown> = { sql: "SELECT status, count(*) AS count FROM pets GROUP BY status", values: [] };

/** Milliseconds of a count of each isolate alone, of a shared one, and of a shared one that is fresh. */
interface Times {
  alone: number;
  shared: number;
  fresh: number;
}

/** What a day costs the database. */
interface Load {
  milliseconds: number;
  read: number;
  written: number;
}

/** Markdown of the load, alone and shared, for each number of animals and isolates. A file in the folder has the database. */
export function measureInventory(folder: string): string {
  const rows = SIZES.flatMap((animals) => {
    const times = measure(join(folder, `${animals}.sqlite`), animals);
    const { alone, shared, fresh } = times;
    console.error(`${animals} animals: ${[alone, shared, fresh].map((time) => time.toFixed(3)).join(", ")} ms`);
    return ISOLATES.map((isolates) => {
      const loads = [simulateAlone(isolates, animals, times), simulateShared(isolates, animals, times)];
      return [animals.toLocaleString("en"), String(isolates), ...loads.flatMap(cellsOf)];
    });
  });
  const figures = ["seconds a second", "rows a second", "$ a month"];
  const headings = ["alone", "shared"].flatMap((kind) => figures.map((figure) => `${kind}: ${figure}`));
  return table(["animals", "isolates", ...headings], rows);
}

function cellsOf({ milliseconds, read, written }: Load): string[] {
  const dollars = (read * PRICES["D1 rows read"].dollars + written * PRICES["D1 rows written"].dollars) / 1e6;
  return [
    (milliseconds / 1_000 / DAY).toPrecision(2),
    Math.round(read / DAY).toLocaleString("en"),
    ((dollars / DAY) * MONTH).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
  ];
}

function measure(path: string, animals: number): Times {
  using database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  for (const name of readdirSync(MIGRATIONS).toSorted())
    if (name.endsWith(".sql")) database.exec(readFileSync(join(MIGRATIONS, name), "utf8"));
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${animals})
    INSERT INTO pets (name, category_id, status) SELECT 'Animal 12345', i % 100,
    CASE WHEN i % 20 < 14 THEN 'available' WHEN i % 20 < 15 THEN 'pending' ELSE 'sold' END FROM n`);
  const timeOf = (statements: Statement<unknown>[], before = "") => {
    const prepared = statements.map(({ sql, values }) => ({ statement: database.prepare(sql), values }));
    const times = Array.from({ length: SAMPLES }, () => {
      database.exec(before);
      const began = performance.now();
      for (const { statement, values } of prepared) statement.all(...(values as string[]));
      return performance.now() - began;
    });
    return spread(times).median;
  };
  const shared = [renewCount({}), selectCount({})];
  return { alone: timeOf([ALONE]), shared: timeOf(shared, "DELETE FROM inventory"), fresh: timeOf(shared) };
}

function simulateAlone(isolates: number, animals: number, { alone }: Times): Load {
  const counts = isolates * Math.ceil(DAY / (COUNT_MILLISECONDS / 1_000));
  return { milliseconds: counts * alone, read: counts * animals, written: 0 };
}

/** Each isolate asks the database when its last count is too old. Whoever comes first counts. */
function simulateShared(isolates: number, animals: number, { shared, fresh }: Times): Load {
  const lifetime = Math.max(COUNT_MILLISECONDS, animals / (COUNTED_A_SECOND / 1_000));
  const load: Load = { milliseconds: 0, read: 0, written: 0 };
  let countedAt = -Infinity;
  const known = Array.from({ length: isolates }, () => -Infinity);
  for (let request = 0; request < DAY * isolates; request++) {
    const [now, isolate] = [(request / isolates) * 1_000, request % isolates];
    if (now - (known[isolate] ?? 0) < lifetime) continue;
    const counts = now - countedAt >= lifetime;
    if (counts) countedAt = now;
    known[isolate] = countedAt;
    load.milliseconds += counts ? shared : fresh;
    load.read += counts ? animals + MORE_ROWS : FRESH_ROWS;
    if (counts) load.written++;
  }
  return load;
}
