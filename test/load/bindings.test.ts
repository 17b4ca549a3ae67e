import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, expect, test } from "vitest";
import { applyMigrations } from "../../scripts/migrations.ts";
import { COMPATIBILITY_DATE } from "../../scripts/bundles.ts";
import { Clock } from "../world/clock.ts";
import { d1Of } from "../world/d1.ts";
import { Database } from "../world/database.ts";
import { Namespace } from "../world/kv.ts";
import { Random } from "../world/random.ts";
import type { Statement } from "../world/sqlite.ts";

// Runs the same random programs on workerd's D1 and KV and on those of the simulated worlds. Their results have to be equal.

const MIGRATIONS = join(import.meta.dirname, "../../drizzle");
const SEED = 20_261_122;
const PROGRAMS = 60;
const CALLS = 8;
/** Names of KV, and rounds of writes and reads. */
const ROUNDS = 200;

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    modules: true,
    script: "export default {}",
    compatibilityDate: COMPATIBILITY_DATE,
    d1Databases: { DB: "differences" },
    kvNamespaces: { KEYS: "differences" },
  }),
);
afterAll(() => miniflare.dispose());

const TEXTS = ["Rex", "Émile 🐍", "a\u0000b", 'a"b\\c', "", "\ud800", "7", "x".repeat(300)];
const VALUES = [null, 0, 1, -1, 1.5, 2 ** 53, -(2 ** 60), "9223372036854775807", "abc", true, false];
const STATUSES = ["available", "pending", "sold", "gone"];

/** Statements like those of the service, with values at and beyond their bounds. */
const STATEMENTS: ((random: Random) => Statement)[] = [
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
const CHANGES: Statement = { sql: "SELECT changes() AS changes", values: [] };
const INSERTED: Statement = {
  sql: "SELECT changes() AS changes, iif(changes() = 0, 0, last_insert_rowid()) AS row",
  values: [],
};

type Result = { rows: unknown[]; changes: number | undefined }[] | { failure: string };

/** Runs statements as one batch, or a single one on its own. */
async function outcome(database: Pick<D1Database, "withSession">, statements: Statement[]): Promise<Result> {
  const session = database.withSession("first-primary");
  try {
    const prepared = statements.map(({ sql, values }) => session.prepare(sql).bind(...values));
    const [single] = prepared;
    const results = prepared.length === 1 && single ? [await single.all()] : await session.batch(prepared);
    return results.map(({ results, meta }) => ({
      rows: results,
      changes: prepared.length === 1 ? meta.changes : undefined,
    }));
  } catch (error) {
    // The service looks for these words only. The texts of SQLite differ between its versions.
    return { failure: /SQLITE_CONSTRAINT|D1_TYPE_ERROR/.exec((error as Error).message)?.[0] ?? "another error" };
  }
}

test("workerd's D1 and the simulated one give equal results", async () => {
  const real = await miniflare.getD1Database("DB");
  await applyMigrations(real, MIGRATIONS);
  const random = new Random(SEED);
  const tables = ["pets", "categories", "orders", "idempotency_keys", "sqlite_sequence"];
  let steps = 0;
  const failures = new Set<string>();
  for (let program = 0; program < PROGRAMS; program++) {
    await real.batch(tables.map((table) => real.prepare(`DELETE FROM ${table}`)));
    const clock = new Clock(0);
    const database = new Database(clock, random, 0, MIGRATIONS);
    const simulated = d1Of({
      clock,
      database,
      replica: 0,
      delay: () => 1,
      goesFurther: () => true,
      failureOf: () => undefined,
      onTrip: () => {},
      deliver: (run) => run(),
    });
    for (let call = 0; call < CALLS; call++) {
      const statements = Array.from({ length: random.between(1, 4) }, () => random.pick(STATEMENTS)(random));
      // Where no statement before has written, workerd's D1 and SQLite tell of another transaction.
      const after = random.between(1, statements.length);
      const before = statements[after - 1]?.sql ?? "";
      const asks = before.startsWith("INSERT") ? INSERTED : CHANGES;
      if (statements.length > 1 && !before.startsWith("SELECT")) statements.splice(after, 0, asks);
      steps += statements.length;
      const pending = outcome(simulated, statements);
      await clock.run();
      const [expected, actual] = [await outcome(real, statements), await pending];
      if ("failure" in expected) failures.add(expected.failure);
      expect(actual, `program ${program}: ${JSON.stringify(statements)}`).toEqual(expected);
    }
    database.close();
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
