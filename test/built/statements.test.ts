import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fillPlaceholders } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";
import { compileStatements, evaluate } from "../../scripts/compile-statements.ts";
import { type Param as Written, standIn } from "../../src/db/stand-in.ts";

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
