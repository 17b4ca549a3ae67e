import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { moduleOf, textsOf } from "../../scripts/compile-statements.ts";
import { prepareEach } from "../../scripts/sqlite.ts";
import { temporaryFolder } from "./folder.ts";

/** The statements of a module with these lines, by their names. */
async function statementsOf(lines: string): Promise<Map<string, string>> {
  const folder = temporaryFolder(onTestFinished);
  const file = join(folder, "src/statements.ts");
  mkdirSync(join(folder, "src"));
  writeFileSync(
    file,
    `import { eq, sql } from "drizzle-orm";
     import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
     import { mergedPage } from ${JSON.stringify(resolve("src/db/page.ts"))};
     import { compile } from ${JSON.stringify(resolve("src/db/statement.ts"))};
     import { pet } from ${JSON.stringify(resolve("src/pets/shape.ts"))};
     const flags = sqliteTable("flags", { name: text(), isSet: integer({ mode: "boolean" }) });
     ${lines};`,
  );
  return textsOf([file]);
}

test("a statement has its parameters by their names, and its constants", async () => {
  const texts = await statementsOf(
    `compile("flags.byName", (db, parameter) =>
       db.select({ name: flags.name }).from(flags)
         .where(sql\`\${eq(flags.name, parameter("name"))} OR \${eq(flags.name, "it's")}\`).limit(5))`,
  );
  const text = `select flags.name from flags where flags.name = :name OR flags.name = 'it''s' limit 5`;
  expect([...texts]).toEqual([["flags.byName", text]]);
});

test("the module has every statement as it was, but for line breaks, in the order of the texts", async () => {
  const texts = new Map([
    ["b", `select "a from b" from c where d = ' from \\\\ \${e} \`f\` ' limit 1`],
    ["a", "select 1"],
  ]);
  const code = moduleOf(texts).replace(/: \{ readonly [^}]*\}/, "");
  const { STATEMENTS } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    STATEMENTS: { [name: string]: string };
  };
  expect(Object.keys(STATEMENTS)).toEqual(["b", "a"]);
  expect(STATEMENTS["b"]).toBe(`select "a from b"\nfrom c\nwhere d = ' from \\\\ \${e} \`f\` '\nlimit 1`);
});

const REFUSED: [what: string, lines: string, error: RegExp][] = [
  ["that cannot be built", `compile("flags", () => { throw new Error("no SQL") })`, /no SQL/],
  [
    "whose value drizzle would convert",
    `compile("flags", (db) => db.insert(flags).values({ isSet: sql.placeholder("isSet") }))`,
    /A parameter of flags has no plain value/,
  ],
  [
    "with a question mark of its own",
    `compile("flags", (db) => db.select({ mark: sql\`'?'\`.as("mark") }).from(flags))`,
    /flags has a question mark/,
  ],
  [
    "with the mark of a parameter",
    `compile("flags", (db) => db.select({ mark: sql\`'12:30'\`.as("mark") }).from(flags))`,
    /flags has a question mark or a colon/,
  ],
  [
    "with a placeholder that is not typed",
    `compile("flags", (db) => db.select({ mark: sql\`\${sql.placeholder("mark")}\`.as("mark") }).from(flags))`,
    /flags makes the placeholder mark by itself/,
  ],
  [
    "with the name of another one",
    `for (const name of ["flags", "flags"]) compile(name, (db) => db.select({ name: flags.name }).from(flags))`,
    /Two statements have the name flags/,
  ],
  [
    "that only a request would compile",
    `export const handler = () => compile("flags", (db) => db.select({ name: flags.name }).from(flags))`,
    /does not see these statements.*statements\.ts:7$/,
  ],
];

test.each(REFUSED)("a statement %s fails the build", async (_what, lines, error) => {
  await expect(statementsOf(lines)).rejects.toThrow(error);
});

const pageOfStatuses = (count: number) => `
  import ${JSON.stringify(resolve("src/index.ts"))};
  const ofStatus = (status) => sql\`status = \${status}\`;
  const statuses = ["available", "pending", "sold", "fourth", "fifth", "sixth"].slice(0, ${count});
  compile("pages", (db, parameter) => mergedPage(db, parameter, pet, statuses.map(ofStatus), "id"))`;

test("a statement that D1 refuses fails the build, such as a page of a sixth status", async () => {
  prepareEach(await statementsOf(pageOfStatuses(5)));
  const six = await statementsOf(pageOfStatuses(6));
  expect(() => prepareEach(six)).toThrow("D1 refuses the statement pages: too many terms in compound SELECT");
  const unknown = await statementsOf(`compile("flags", (db) => db.select({ name: flags.name }).from(flags))`);
  expect(() => prepareEach(unknown)).toThrow("D1 refuses the statement flags: no such table: flags");
});
