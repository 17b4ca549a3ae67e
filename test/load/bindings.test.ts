import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, describe, expect, test } from "vitest";
import { applyMigrations } from "../../scripts/migrations.ts";
import { COMPATIBILITY_DATE } from "../../scripts/bundles.ts";
import { Clock } from "../world/clock.ts";
import { d1Of, pathTo } from "../world/d1.ts";
import { Database } from "../world/database.ts";
import { Namespace } from "../world/kv.ts";
import { Random } from "../world/random.ts";
import { type Ask, ODD, outcome } from "./asks.ts";

// Runs the same random programs on workerd's D1 and KV and on those of the simulated worlds. Their results have to be equal.

const SEED = 20_261_122;
const PROGRAMS = 60;
const CALLS = 8;
/** Names of KV, and rounds of writes and reads. */
const ROUNDS = 200;

const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, "asks.ts")],
  bundle: true,
  format: "esm",
  write: false,
});
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: COMPATIBILITY_DATE,
    d1Databases: { DB: "differences" },
    kvNamespaces: { KEYS: "differences" },
  }),
);
afterAll(() => miniflare.dispose());

const TEXTS = ["Rex", "Émile 🐍", "a\u0000b", 'a"b\\c', "", "7", "x".repeat(300)];
const VALUES = [null, 0, 1, -1, 1.5, 2 ** 53, -(2 ** 60), "9223372036854775807", "abc", true, false];
const STATUSES = ["available", "pending", "sold", "gone"];

/** Statements like those of the service, with values at and beyond their bounds. */
const STATEMENTS: ((random: Random) => Ask)[] = [
  (random) => ({
    sql: "INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?) RETURNING id, CAST(category_id AS TEXT) AS category, version",
    values: [random.pick([...TEXTS, null]), random.pick(VALUES), random.pick(STATUSES)],
  }),
  (random) => ({
    sql: "INSERT INTO categories (name, description) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM categories WHERE id = ?) RETURNING *",
    values: [random.pick(TEXTS), random.pick([...TEXTS, null]), random.between(1, 4)],
  }),
  (random) => ({ sql: "INSERT INTO categories (name) VALUES (?)", values: [random.pick(TEXTS)] }),
  (random) => ({
    sql: "INSERT INTO orders (pet_id, status, created_at) SELECT id, 'placed', 'now' FROM pets WHERE id = ? RETURNING id, pet_id",
    values: [random.between(1, 6)],
  }),
  (random) => ({
    sql: `INSERT INTO pets (name, category_id, status) SELECT value ->> 'name', value ->> 'categoryId', 'sold' FROM json_each(?) ORDER BY key
      RETURNING json_object('id', id, 'category', category_id) AS body`,
    values: [
      random.pick(['[{"name":"Rex","categoryId":"9007199254740993"},{"name":"Max","categoryId":1}]', "[]", "[1]", "{"]),
    ],
  }),
  (random) => ({
    sql: "UPDATE pets SET status = ?, version = version + 1 WHERE id = ? AND version IN (SELECT value FROM json_each(?)) RETURNING 1 AS changed",
    values: [random.pick(STATUSES), random.between(1, 6), random.pick(["[1]", "[1,2,3]", "[]"])],
  }),
  (random) => ({ sql: "UPDATE orders SET status = 'shipped' WHERE id = ?", values: [random.between(1, 3)] }),
  (random) => ({ sql: "DELETE FROM pets WHERE id = ? RETURNING id", values: [random.between(1, 6)] }),
  (random) => ({ sql: "DELETE FROM pets WHERE id > ?", values: [random.between(1, 9)] }),
  (random) => ({
    sql: "SELECT id, name, category_id, status, version FROM pets WHERE id > ? ORDER BY id DESC LIMIT ?",
    values: [random.between(0, 5), 3],
  }),
  (random) => ({
    sql: "SELECT status, count(*) AS count FROM pets GROUP BY status HAVING count(*) > ?",
    values: [random.between(0, 2)],
  }),
  () => ({
    sql: "SELECT json_group_array(json_object('id', id, 'name', name) ORDER BY id) AS all_pets FROM pets",
    values: [],
  }),
  () => ({ sql: "SELECT name, seq FROM sqlite_sequence ORDER BY name", values: [] }),
  (random) => ({
    sql: "SELECT ? AS value, ? AS other, CAST(? AS TEXT) AS text",
    values: [random.pick(VALUES), random.pick(TEXTS), random.pick(VALUES)],
  }),
  (random) => ({ sql: "SELECT ? AS one, ? AS two", values: [random.pick(VALUES)] }),
  () => ({ sql: "SELECT nothing FROM pets", values: [] }),
  () => ({ sql: "SELECT '?' AS mark, \"id\" FROM pets LIMIT 1", values: [] }),
];
/** What a statement tells of the one before it in its batch. */
const CHANGES: Ask = { sql: "SELECT changes() AS changes", values: [] };
const INSERTED: Ask = {
  sql: "SELECT changes() AS changes, iif(changes() = 0, 0, last_insert_rowid()) AS row",
  values: [],
};

const real = await miniflare.getD1Database("DB");
await applyMigrations(real, "drizzle");

async function outcomeOfReal(asks: Ask[]): Promise<object> {
  const response = await miniflare.dispatchFetch("http://d1.test", { method: "POST", body: JSON.stringify(asks) });
  return (await response.json()) as object;
}

/** A database of its own. It answers as soon as it can. */
function simulatedD1() {
  const clock = new Clock(0);
  const database = new Database(clock, new Random(SEED), 0);
  const d1 = d1Of(pathTo(database, clock, 1));
  const outcomeOf = async (asks: Ask[]): Promise<object> => {
    const pending = outcome(d1, asks);
    await clock.run();
    return JSON.parse(JSON.stringify(await pending)) as object;
  };
  return { outcomeOf, close: () => database.close() };
}

const times = (count: number, part: string, separator = ", ") =>
  Array.from({ length: count }, () => part).join(separator);

/** Rules of which each has a number: D1 takes the most of it, and refuses one more. */
const LIMITS: [
  what: string,
  most: number,
  sqlOf: (count: number) => string,
  valuesOf?: (count: number) => unknown[],
][] = [
  ["SELECTs in a UNION ALL", 5, (count) => times(count, "SELECT id FROM pets", " UNION ALL ")],
  ["SELECTs in a UNION", 5, (count) => times(count, "SELECT 1", " UNION ")],
  ["SELECTs in a UNION ALL of a subquery", 5, (count) => `SELECT * FROM (${times(count, "SELECT 1", " UNION ALL ")})`],
  ["SELECTs in a CTE", 5, (count) => `WITH c AS (${times(count, "SELECT 1", " UNION ALL ")}) SELECT * FROM c`],
  [
    "SELECTs of three each in a UNION ALL",
    5,
    (count) => times(count, "SELECT * FROM (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)", " UNION ALL "),
  ],
  ["values", 100, (count) => `SELECT 1 IN (${times(count, "?")})`, (count) => Array(count).fill("a")],
  ["bytes of SQL", 100_000, (count) => "SELECT 1 --".padEnd(count, "x")],
  ["bytes of a LIKE", 50, () => "SELECT 'a' LIKE ?", (count) => ["x".repeat(count)]],
  ["pairs of bytes of a GLOB", 25, () => "SELECT 'a' GLOB ?", (count) => ["é".repeat(count)]],
  ["columns of a result", 100, (count) => `SELECT ${times(count, "1")}`],
  ["terms of an ORDER BY", 100, (count) => `SELECT 1 ORDER BY ${times(count, "1")}`],
  ["terms of a GROUP BY", 100, (count) => `SELECT 1 GROUP BY ${times(count, "1 + 1")}`],
  ["operands of a sum", 100, (count) => `SELECT ${times(count, "1", " + ")}`],
  ["elements of a list, which fill a program", 7_160, (count) => `SELECT 1 IN (${times(count, "1")})`],
];

const PRAGMAS = "foreign_keys = OFF,user_version,journal_mode,integrity_check,quick_check,table_info(pets)".split(",");
const TABLES = "_cf_KV,dbstat,generate_series(1; 2),json_each('[1]'),pragma_function_list,pragma_table_info('pets')";
const ASKED = [
  ..."BEGIN,COMMIT,SAVEPOINT a,VACUUM,ATTACH ':memory:' AS a,DETACH a,REINDEX,ANALYZE,EXPLAIN SELECT 1,SELECT 1;,;,".split(
    ",",
  ),
  ...PRAGMAS.map((pragma) => `PRAGMA ${pragma}`),
  ...TABLES.split(",").map((table) => `SELECT * FROM ${table.replace("; ", ", ")}`),
  ...["TEMP TABLE a", "TABLE sqlite_a", "TABLE _cf_a"].map((what) => `CREATE ${what} (a)`),
  "-- nothing",
  "SELECT ?",
  "SELECT 'a' REGEXP 'a'",
  "SELECT id FROM pets INDEXED BY nothing",
  `VALUES ${times(600, "(1)")}`,
  times(600, "VALUES (1)", " UNION ALL "),
  `SELECT ${times(6, `(${times(5, "SELECT 1", " UNION ALL ")})`)}`,
  "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30) SELECT n FROM c",
];

describe("workerd's D1 and the simulated one", async () => {
  const simulated = simulatedD1();
  afterAll(() => simulated.close());
  const both = async (asks: Ask[]) => Promise.all([simulated.outcomeOf(asks), outcomeOfReal(asks)]);
  const refusals = async (sql: string, values: unknown[] = []) =>
    (await both([{ sql, values }])).map((result) => "failure" in result);

  test.each(LIMITS)("take so many %s: %i", async (_what, most, sqlOf, valuesOf = () => []) => {
    expect(await refusals(sqlOf(most), valuesOf(most))).toEqual([false, false]);
    expect(await refusals(sqlOf(most + 1), valuesOf(most + 1))).toEqual([true, true]);
  });

  // D1 documents less than it has locally.
  test.each<[string, number, (count: number) => string]>([
    ["arguments of a function", 32, (count) => `SELECT max(${times(count, "1")})`],
    ["bytes of a text", 2_000_000, (count) => `SELECT length('${"x".repeat(50)}' || zeroblob(${count - 50}))`],
  ])("differ in the %s, of which the simulated one takes what is documented: %i", async (_what, most, sqlOf) => {
    expect(await refusals(sqlOf(most))).toEqual([false, false]);
    expect(await refusals(sqlOf(most + 1))).toEqual([true, false]);
  });

  test("refuse the same statements and functions", async () => {
    const sqlite = new DatabaseSync(":memory:");
    const functions = sqlite
      .prepare("SELECT DISTINCT name, narg FROM pragma_function_list WHERE name GLOB '[a-z]*'")
      .all();
    const calls = functions.map(
      ({ name, narg }) => `SELECT ${String(name)}(${times(Number(narg) < 0 ? 2 : Number(narg), "1")})`,
    );
    const counts = { taken: 0, refused: 0 };
    for (const sql of [...ASKED, ...calls]) {
      const [simulates, refuses] = await refusals(sql);
      expect(simulates, sql).toBe(refuses);
      counts[refuses ? "refused" : "taken"]++;
    }
    expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(60);
  });

  test.each(Object.keys(ODD))("take or refuse alike: %s", async (value) => {
    const sql = "SELECT ? AS value, typeof(?) AS type";
    const [actual, expected] = await both([{ sql, values: [value, value] }]);
    expect(actual).toEqual(expected);
  });

  test("refuse an empty batch, and a statement with too many or too few values", async () => {
    const failures = [{ failure: "another error" }, { failure: "another error" }];
    expect(await both([])).toEqual(failures);
    for (const values of [[], [1], [1, 2, 3]]) expect(await both([{ sql: "SELECT ?, ?", values }])).toEqual(failures);
  });

  test("take several statements in one text, or refuse it", async () => {
    expect(await refusals("SELECT 1; SELECT 2")).toEqual([true, false]);
  });
});

test("workerd's D1 and the simulated one give equal results", async () => {
  const random = new Random(SEED);
  const tables = ["pets", "categories", "orders", "idempotency_keys", "sqlite_sequence"];
  let steps = 0;
  const failures = new Set<string>();
  for (let program = 0; program < PROGRAMS; program++) {
    await real.batch(tables.map((table) => real.prepare(`DELETE FROM ${table}`)));
    const simulated = simulatedD1();
    for (let call = 0; call < CALLS; call++) {
      const asks = Array.from({ length: random.between(1, 4) }, () => random.pick(STATEMENTS)(random));
      // Where no statement before has written, workerd's D1 and SQLite tell of another transaction.
      const after = random.between(1, asks.length);
      const before = asks[after - 1]?.sql ?? "";
      if (asks.length > 1 && !before.startsWith("SELECT"))
        asks.splice(after, 0, before.startsWith("INSERT") ? INSERTED : CHANGES);
      steps += asks.length;
      const [actual, expected] = await Promise.all([simulated.outcomeOf(asks), outcomeOfReal(asks)]);
      if ("failure" in expected) failures.add(String(expected.failure));
      expect(actual, `program ${program}: ${JSON.stringify(asks)}`).toEqual(expected);
    }
    simulated.close();
  }
  console.log(`${PROGRAMS} programs, ${steps} statements`);
  expect(failures.size).toBeGreaterThan(1);
});

test("workerd's KV and the simulated one give equal results, when a change has reached every location", async () => {
  const real = await miniflare.getKVNamespace("KEYS");
  const clock = new Clock(0);
  const random = new Random(SEED, "keys");
  const simulated = new Namespace(clock, random, 3);
  const names = ["key:a", "key:b", "key:c"];
  for (let round = 0; round < ROUNDS; round++) {
    const name = random.pick(names);
    if (random.chance(0.4)) {
      const value = JSON.stringify({ id: random.pick(TEXTS).toWellFormed(), round });
      simulated.put(name, value);
      await real.put(name, value);
      // The longest delay of a change, and the time of the caches.
      clock.now += 60_000 + 30_000;
    } else
      expect(simulated.get(random.between(0, 2), name, 30)).toBe(await real.get(name, { type: "text", cacheTtl: 30 }));
  }
});
