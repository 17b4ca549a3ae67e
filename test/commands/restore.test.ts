import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { OWN_TABLES } from "../../ops/backup/tables.ts";
import { addReleases, useAccount } from "./cloudflare/fixture.ts";

const DATABASE = "petstore-production";

const account = useAccount(DATABASE);

/** The number of rows that a restore loses. It exceeds the number of migrations, which are counted in the same table. */
const LOST = 20;

/** Adds an animal, a category and an order. Returns their ids. */
function create(): unknown[] {
  const insert = (sql: string) => account.api.databases.query(DATABASE, `INSERT INTO ${sql} RETURNING id`)[0]?.["id"];
  return [
    insert("pets (name, category_id, status) VALUES ('Rex', 1, 'available')"),
    insert("categories (name) SELECT 'Dogs' || count(*) FROM categories"),
    insert("orders (pet_id, status, created_at) SELECT count(*), 'placed', '' FROM orders"),
  ];
}

/** The SQL of the page, in order of execution. */
const RUNBOOK = readFileSync("docs/runbook/lost-data.md", "utf8");
const [READ_COUNTERS = "", RAISE_COUNTERS = ""] = [...RUNBOOK.matchAll(/--command [\s\\]*"([^"]+)"/g)].flatMap(
  ([, sql = ""]) => (sql.includes("sqlite_sequence") ? [sql] : []),
);

const MIGRATIONS = readdirSync("drizzle")
  .filter((name) => name.endsWith(".sql"))
  .map((name) => readFileSync(join("drizzle", name), "utf8"))
  .join("\n");

test("docs/storage.md lists the tables of the migrations and of the commands", () => {
  const sqlite = new DatabaseSync(":memory:");
  sqlite.exec(MIGRATIONS);
  const made = sqlite
    .prepare("SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%'")
    .all();
  sqlite.close();
  const page = readFileSync("docs/storage.md", "utf8");
  const section = page.slice(page.indexOf("\n## D1"), page.indexOf("\n## Durable Objects"));
  const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, table = ""]) => table);
  expect(listed.toSorted()).toEqual(
    [...made.map(({ name }) => String(name)), ...OWN_TABLES, "d1_migrations"].toSorted(),
  );
});

test("the page raises the counter of every table of the migrations", () => {
  const tables = [...MIGRATIONS.matchAll(/CREATE TABLE `(\w+)` \(\s*`id` integer PRIMARY KEY AUTOINCREMENT/g)];
  expect(tables.length).toBeGreaterThan(2);
  for (const [, table] of tables) expect(RAISE_COUNTERS).toContain(`'${table}'`);
});

// documented-commands.test.ts runs the commands of the page themselves.
test.each([0, 2])(
  "after a restore to %i animals as in docs/runbook/lost-data.md, no id is assigned twice",
  (before) => {
    const { databases } = account.api;
    addReleases(account.api, DATABASE, 1);
    for (let count = 0; count < before; count++) create();
    const bookmark = databases.snapshot(DATABASE);
    for (let count = 0; count < LOST; count++) create();

    expect(databases.query(DATABASE, READ_COUNTERS)).toEqual([{ largest: String(before + LOST) }]);
    databases.restore(DATABASE, bookmark);
    expect(databases.query(DATABASE, "SELECT id FROM pets")).toHaveLength(before);
    databases.query(DATABASE, RAISE_COUNTERS.replaceAll("5000", String(before + LOST)));
    expect(create()).toEqual([before + LOST + 1, before + LOST + 1, before + LOST + 1]);
  },
);
