import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fillPlaceholders } from "drizzle-orm";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { compileStatements, evaluate } from "../../scripts/compile-statements.ts";
import { writeStatements } from "../../scripts/write-statements.ts";
import { nameOf, readStatements, standIn, type Param as Written } from "../../src/db/stand-in.ts";

/** A value for each placeholder: its name. */
const names = new Proxy<Record<string, unknown>>(
  {},
  { get: (_values, name) => `value of ${String(name)}`, has: () => true },
);

test("the bundle has the SQL of drizzle, with the same values", async () => {
  const { queries: written } = await evaluate(["src/index.ts"], await compileStatements());
  const { queries: built } = await evaluate(["src/index.ts"]);
  expect(built.length).toBeGreaterThan(200);
  expect(written.map(({ sql }) => sql)).toEqual(built.map(({ sql }) => sql));
  const { fillPlaceholders: fill } = standIn("");
  expect(written.map(({ params }) => fill(params as Written[], names))).toEqual(
    built.map(({ params }) => fillPlaceholders(params, names)),
  );
});

test("statements are read as they were written", () => {
  const word = fc.constantFrom("select", '"pets"."id"', '"pets"', '"orders"."id"', "\n ", "?id", "and", ",", "a");
  const sql = fc.array(word, { minLength: 1, maxLength: 300 }).map((words) => words.join(" "));
  fc.assert(
    fc.property(fc.uniqueArray(sql, { minLength: 1, maxLength: 20 }), (all) => {
      const statements = new Map(all.map((text, index) => [`calls ${index}`, text]));
      const read = readStatements(writeStatements(statements));
      for (const [calls, text] of statements) expect(read(calls)).toBe(text);
      expect(read("other calls")).toBeUndefined();
    }),
  );
});

test("calls whose names would be the same with one salt have another salt", () => {
  const seen = new Map<string, string>();
  let calls = "";
  let other: string | undefined;
  for (let index = 0; other === undefined; index++) {
    calls = `calls ${index}`;
    other = seen.get(nameOf(calls, 1));
    seen.set(nameOf(calls, 1), calls);
  }
  const statements = new Map([
    [calls, "select 1"],
    [other, "select 2"],
  ]);
  const read = readStatements(writeStatements(statements));
  expect([read(calls), read(other)]).toEqual(["select 1", "select 2"]);
});

test("a part of two names is no name", () => {
  const statements = new Map([
    ["one", "select 1"],
    ["two", "select 2"],
  ]);
  const read = readStatements(writeStatements(statements));
  const part = (nameOf("one", 1) + nameOf("two", 1)).slice(1, -2);
  let calls = "";
  for (let index = 0; nameOf(calls, 1) !== part; index++) calls = `calls ${index}`;
  expect(read(calls)).toBeUndefined();
});

test("calls that the build has not seen throw", () => {
  const { expression } = standIn(writeStatements(new Map([["db.select(1)", "select 1"]])));
  expect(expression("db").select(1).toSQL()).toEqual({ sql: "select 1", params: [] });
  expect(() => expression("db").select(2).toSQL()).toThrow("The build has no SQL for db.select(2)");
});

const REFUSED: [what: string, lines: string, error: RegExp][] = [
  ["that cannot be built", `compile(() => { throw new Error("no SQL") })`, /no SQL/],
  [
    "whose value drizzle would convert",
    `compile((db) => db.insert(flags).values({ isSet: sql.placeholder("isSet") }))`,
    /no plain value/,
  ],
  [
    "with a question mark of its own",
    `compile((db) => db.select({ mark: sql\`'?'\`.as("mark") }).from(flags))`,
    /question mark/,
  ],
  [
    "with the mark of its first table",
    `compile((db) => db.select({ mark: sql\`\${flags.isSet} || '~'\`.as("mark") }).from(flags))`,
    /not read again/,
  ],
  [
    "with the name of another one",
    `const named = (column) => sqliteTable("names", { name: text(column) });
     for (const table of [named("a"), named("b")]) compile((db) => db.select({ name: table.name }).from(table))`,
    /have one name/,
  ],
];

test.each(REFUSED)("a statement %s fails the build", async (_what, lines, error) => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-statements-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "statements.ts");
  writeFileSync(
    file,
    `import { sql } from "drizzle-orm";
     import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
     import { compile } from ${JSON.stringify(resolve("src/db/statement.ts"))};
     const flags = sqliteTable("flags", { isSet: integer({ mode: "boolean" }) });
     ${lines};`,
  );
  await expect(compileStatements([file])).rejects.toThrow(error);
});
