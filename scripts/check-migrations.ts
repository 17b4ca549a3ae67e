// npm run check:migrations: checks that the SQL in drizzle/ makes the tables of drizzle/tables.ts, and that drizzle-kit can follow every
// edit by hand.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual, styleText } from "node:util";
import { generateSQLiteDrizzleJson, generateSQLiteMigration } from "drizzle-kit/api";
import { Sqlite } from "./sqlite.ts";

type Snapshot = Awaited<ReturnType<typeof generateSQLiteDrizzleJson>>;

/** The snapshot of the tables of a module, which has no id of its own. @throws Error when the module does not load. */
const snapshotOf = async (file: string): Promise<Snapshot> =>
  generateSQLiteDrizzleJson((await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>);

/**
 * Whether the newest migration of a folder has the tables of a module. drizzle-kit 0.31.11 without a terminal exits 0 and writes nothing when
 * an edit may be a rename, or when the module does not load.
 */
export async function isMigrated(file: string, folder: string): Promise<boolean> {
  const newest = readdirSync(join(folder, "meta"))
    .filter((name) => name.endsWith("_snapshot.json"))
    .toSorted()
    .at(-1);
  const shown = ({ tables, views }: Snapshot) => ({ tables, views });
  const recorded = JSON.parse(readFileSync(join(folder, "meta", newest ?? ""), "utf8")) as Snapshot;
  const declared = JSON.parse(JSON.stringify(await snapshotOf(file))) as Snapshot;
  return isDeepStrictEqual(shown(recorded), shown(declared));
}

/** What the tables of a module and the migrations of a folder do not have in common, as definitions of SQLite. */
async function differences(file: string, folder: string): Promise<string[]> {
  const [declared, migrated] = [new Sqlite(), new Sqlite()];
  const statements = await generateSQLiteMigration(await generateSQLiteDrizzleJson({}), await snapshotOf(file));
  for (const statement of statements) declared.exec(statement);
  migrated.migrate(folder);
  const [wanted, made] = [definitionsOf(declared), definitionsOf(migrated)];
  return [
    ...wanted
      .difference(made)
      .keys()
      .map((definition) => `Only in the tables:     ${definition}`),
    ...made
      .difference(wanted)
      .keys()
      .map((definition) => `Only in the migrations: ${definition}`),
  ];
}

/** A literal, a name, a parenthesis, a comma, or what is between them. */
const PARTS = /'(?:[^']|'')*'|"[^"]*"|`[^`]*`|[(),]|[^'"`(),]+/g;

/** Each index, each column and each other part of each table, in a form of which the order of columns is no part. */
function definitionsOf(database: Sqlite): Set<string> {
  const definitions = new Set<string>();
  // Drizzle knows no virtual tables.
  const schema = database
    .prepare(
      `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL
        AND tbl_name NOT IN (SELECT name FROM pragma_table_list WHERE type IN ('virtual', 'shadow'))`,
    )
    .all();
  for (const { type, name, sql } of schema) {
    const pieces: string[] = [""];
    let depth = 0;
    for (const [part] of String(sql).matchAll(PARTS)) {
      if (part === ")") depth--;
      const separates = type === "table" && ((part === "," && depth === 1) || (part === ")" && depth === 0));
      if (separates || (part === "(" && depth === 0)) pieces.push("");
      else pieces.push((pieces.pop() ?? "") + part.replace(/^`(.*)`$/, '"$1"'));
      if (part === "(") depth++;
    }
    for (const piece of type === "table" ? pieces.slice(1) : [pieces.join(" ")])
      definitions.add(`${String(type)} ${String(name)}: ${piece.replaceAll(/\s+/g, " ").trim()}`);
  }
  return definitions;
}

if (import.meta.main) {
  const [file = "drizzle/tables.ts", folder = "drizzle"] = process.argv.slice(2);
  const bin = join(import.meta.dirname, "../node_modules/drizzle-kit/bin.cjs");
  execFileSync(process.execPath, [bin, "check", "--dialect", "sqlite", "--out", folder], { encoding: "utf8" });
  const faults = await differences(file, folder);
  if (!(await isMigrated(file, folder)))
    faults.push("The newest snapshot is not that of the tables. Run `npm run generate:migration` and review the SQL.");
  for (const fault of faults) console.error(styleText("red", fault));
  if (faults.length > 0) process.exit(1);
  console.log("The migrations match the tables.");
}
