import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, expect, test } from "vitest";
import { OWN_TABLES } from "../../ops/backup/tables.ts";
import { Checkout } from "./cloudflare/checkout.ts";

// drizzle-kit 0.31.11 finds no folder whose name has a question mark.
const checkout = new Checkout(afterAll, "petstore-migrations-");
afterEach(() => {
  checkout.git("reset", "--quiet", "--hard");
  checkout.git("clean", "--quiet", "--force", "drizzle");
});

type Edit = [file: string, text: string | RegExp, other: string];

function edit(...edits: Edit[]): void {
  for (const [file, text, other] of edits) {
    const path = join(checkout.folder, file);
    const content = readFileSync(path, "utf8");
    const changed = content.replace(text, other);
    expect(changed).not.toBe(content);
    writeFileSync(path, changed);
  }
}

const TABLES = "drizzle/tables.ts";
const EVENTS = "src/feed/table.ts";
const RENAMED_COLUMN: Edit = [EVENTS, "data: text()", "body: text()"];
const RENAMED_TABLE: Edit = [EVENTS, 'sqliteTable("events"', 'sqliteTable("changes"'];
const BROKEN: Edit = [TABLES, "export const pets", 'throw new Error("It does not load"); export const pets'];

test.each<[what: string, edits: Edit[], ...found: string[]]>([
  [
    "a renamed column",
    [RENAMED_COLUMN],
    'Only in the tables:     table events: "body" text NOT NULL',
    'Only in the migrations: table events: "data" text NOT NULL',
    "The newest snapshot is not that of the tables",
  ],
  [
    "a lost unique index beside a renamed column",
    [[TABLES, 'uniqueIndex("categories_name_idx").on(category.name),', ""], RENAMED_COLUMN],
    "Only in the migrations: index categories_name_idx: CREATE UNIQUE INDEX",
    'Only in the tables:     table events: "body" text NOT NULL',
  ],
  ["tables that do not load", [BROKEN], "It does not load"],
  [
    "a table without a CHECK",
    [[TABLES, /check\(\s*"pets_status_check",[^;]*?\),\n(?=\]\))/, ""]],
    'Only in the migrations: table pets: CONSTRAINT "pets_status_check" CHECK',
  ],
  [
    "a column changed by hand",
    [["drizzle/0004_orders.sql", "`ship_date` text", "`ship_date` integer"]],
    'Only in the tables:     table orders: "ship_date" text\n',
    'Only in the migrations: table orders: "ship_date" integer\n',
  ],
  [
    "SQL without a CHECK",
    [["drizzle/0004_orders.sql", /CONSTRAINT "orders_pet_id_check".*\n/, ""]],
    'Only in the tables:     table orders: CONSTRAINT "orders_pet_id_check" CHECK',
  ],
  [
    "another condition of an index",
    [["drizzle/0007_references_of_orders.sql", "reference IS NOT NULL", "reference <> ''"]],
    "Only in the migrations: index orders_reference_status_idx: CREATE INDEX",
  ],
])("the check names %s", async (_what, edits, ...found) => {
  edit(...edits);
  const { code, stderr } = await checkout.run("scripts/check-migrations.ts", []);
  for (const text of found) expect(stderr).toContain(text);
  expect(code).toBe(1);
});

test.each([
  ["a renamed column", RENAMED_COLUMN, "Run this in a terminal"],
  ["a renamed table", RENAMED_TABLE, "Run this in a terminal"],
  ["tables that do not load", BROKEN, "It does not load"],
])("without a terminal, no migration is written for %s, and the command fails", async (_what, fault, reason) => {
  edit(fault);
  const before = readdirSync(join(checkout.folder, "drizzle"));
  const { code, stderr } = await checkout.run("scripts/generate-migration.ts", []);
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) });
  expect(readdirSync(join(checkout.folder, "drizzle"))).toEqual(before);
});

test("a migration is written for an added column, and the check passes", async () => {
  edit([EVENTS, "data: text()", "note: text(), data: text()"]);
  expect(await checkout.run("scripts/generate-migration.ts", ["--name", "note"])).toMatchObject({ code: 0 });
  const sql = readdirSync(join(checkout.folder, "drizzle")).find((name) => name.endsWith("_note.sql")) ?? "";
  expect(readFileSync(join(checkout.folder, "drizzle", sql), "utf8")).toBe("ALTER TABLE `events` ADD `note` text;");
  expect(await checkout.run("scripts/check-migrations.ts", [])).toMatchObject({ code: 0, stderr: "" });
});

const SQL = readdirSync("drizzle")
  .filter((name) => name.endsWith(".sql"))
  .map((name) => readFileSync(join("drizzle", name), "utf8"))
  .join("\n");

test("docs/storage.md lists the tables of the migrations and of the commands", () => {
  using sqlite = new DatabaseSync(":memory:");
  sqlite.exec(SQL);
  const made = sqlite
    .prepare("SELECT name FROM pragma_table_list WHERE type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%'")
    .all();
  const page = readFileSync("docs/storage.md", "utf8");
  const section = page.slice(page.indexOf("\n## D1"), page.indexOf("\n## Durable Objects"));
  const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, table = ""]) => table);
  expect(listed.toSorted()).toEqual(
    [...made.map(({ name }) => String(name)), ...OWN_TABLES, "d1_migrations"].toSorted(),
  );
});

// documented-commands.test.ts runs the commands of the page.
test("docs/runbook/lost-data.md reads the largest id, and raises the counter of every table of the migrations", () => {
  const page = readFileSync("docs/runbook/lost-data.md", "utf8");
  expect(page).toContain('"SELECT CAST(max(seq) AS TEXT) AS largest FROM sqlite_sequence"');
  const tables = [...SQL.matchAll(/CREATE TABLE `(\w+)` \(\s*`id` integer PRIMARY KEY AUTOINCREMENT/g)];
  expect(tables.length).toBeGreaterThan(2);
  // For a table without a counter, and for one that has one.
  for (const [, table] of tables) expect(page.split(`'${table}'`), table).toHaveLength(3);
});
