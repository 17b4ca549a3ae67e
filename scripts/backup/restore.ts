import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Terminal } from "../terminal.ts";
import { type Manifest, readLines, readManifest, sha256, verify } from "./archive.ts";
import type { Database } from "./database.ts";
import { type Line, OWN_TABLES, pagesOf, readMigrations, readTables, type Table } from "./tables.ts";
import { createHash } from "node:crypto";

/**
 * A restore adds this to each counter of ids. So no id is given out again that was given out between the backup and its restore, unless
 * there were more: D1 can create fewer rows in a day. JavaScript holds such ids exactly.
 */
export const MARGIN = 1_000_000_000n;
const MAX_ID = 2n ** 63n - 1n;
const MIGRATIONS = join(import.meta.dirname, "../../drizzle");
/** Characters of JSON in one statement. D1 takes 2 MB, and a character takes up to three bytes. */
const PAGE_CHARACTERS = 500_000;
const PAGE_ROWS = 2_000;
/** Pages between two lines of progress. */
const PROGRESS = 100;
/** Which backup is being restored. The last transaction of the restore removes the table. */
const MARKER = "restore_progress";
const CREATE_MIGRATIONS = `CREATE TABLE d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

export interface RestoreOptions {
  /** The name of a database whose data is replaced. */
  overwrite?: string;
}

/**
 * Replaces the contents of a database by those of a backup. The service may not serve it meanwhile. After an interruption, a repetition
 * goes on where the last attempt ended.
 *
 * @throws Error before it changes anything: when the backup is incomplete, damaged or from newer code, and when the database has data and
 *   nobody says that it may be replaced. Later only when the database fails, or when it does not have the data of the backup in the end.
 */
export async function restoreDatabase(
  database: Database,
  folder: string,
  { overwrite }: RestoreOptions,
  terminal: Terminal,
): Promise<Manifest> {
  const { manifest, digest } = readManifest(folder);
  const migrations = readMigrationFiles(manifest);
  terminal.say(`Reading the backup of ${manifest.database}, which is the truth of ${manifest.moment.time} ...`);
  await verify(folder, manifest);

  const begun = await readMarker(database);
  if (begun !== digest) {
    await refuseData(database, overwrite);
    await prepare(database, manifest, migrations, digest);
  } else {
    terminal.say("Going on with the restore that was interrupted.");
  }
  const applied = await readMigrations(database);
  if (applied.length === manifest.migrations.length) {
    for (const [name, table] of Object.entries(manifest.tables)) {
      if (name !== "events") await load(database, folder, { name, ...table }, terminal);
    }
    await compare(database, manifest);
  }
  for (const [name, sql] of migrations.later) {
    if (!applied.includes(name)) await database.run([...(await statementsOf(sql)), insertMigration(name)]);
  }
  await finish(database, manifest);
  return manifest;
}

type Files = [name: string, sql: string][];

async function statementsOf(sql: string): Promise<string[]> {
  // Loaded here, because it takes a second, and a backup does not need it.
  const { unstable_splitSqlQuery: splitSqlQuery } = await import("wrangler");
  return splitSqlQuery(sql);
}

/** The migrations of this code: those of the backup, and the later ones. @throws Error when they are not the same. */
function readMigrationFiles({ migrations }: Manifest): { ofBackup: Files; later: Files } {
  const all: Files = readdirSync(MIGRATIONS)
    .filter((file) => file.endsWith(".sql"))
    .toSorted()
    .map((file) => [file, readFileSync(join(MIGRATIONS, file), "utf8")]);
  for (const [index, { name, sha256: expected }] of migrations.entries()) {
    const [file, sql = ""] = all[index] ?? [];
    if (file === name && sha256(sql) === expected) continue;
    const known = existsSync(join(MIGRATIONS, name)) ? "Its text differs here." : "This code does not have it.";
    throw new Error(`The backup has the migration ${name}. ${known} Restore it with the code that wrote it, or newer.`);
  }
  return { ofBackup: all.slice(0, migrations.length), later: all.slice(migrations.length) };
}

/** The digest of the backup that is being restored, if any. */
export async function readMarker(database: Database): Promise<string | undefined> {
  const [[table] = []] = await database.run([`SELECT name FROM sqlite_schema WHERE name = '${MARKER}'`]);
  if (table === undefined) return undefined;
  const [[row] = []] = await database.run([`SELECT digest FROM ${MARKER}`]);
  return String(row?.["digest"]);
}

/** @throws Error when the database has data that nobody allows to replace. */
async function refuseData(database: Database, overwrite: string | undefined): Promise<void> {
  const { name } = database;
  if (overwrite === name) return;
  if (overwrite !== undefined) throw new Error(`--overwrite names ${overwrite}, and the database is ${name}.`);
  const tables = (await readTables(database)).filter((table) => table.name !== "events");
  const found = await database.run(["SELECT 1", ...tables.map((table) => `SELECT 1 FROM "${table.name}" LIMIT 1`)]);
  const filled = tables.filter((_, index) => (found[index + 1]?.length ?? 0) > 0).map((table) => table.name);
  if (filled.length === 0) return;
  throw new Error(`${name} has data in ${filled.join(", ")}. To replace all of it, say --overwrite ${name}.`);
}

/** Gives the database the empty tables of the backup, in one transaction that may run twice. */
async function prepare(
  database: Database,
  manifest: Manifest,
  { ofBackup }: { ofBackup: Files },
  digest: string,
): Promise<void> {
  const [found = []] = await database.run(["SELECT name FROM sqlite_schema WHERE type = 'table'"]);
  const dropped = found
    .map(({ name }) => String(name))
    .filter((name) => !/^(?:sqlite_|_cf_)/.test(name) && !OWN_TABLES.includes(name));
  const applied: string[] = [];
  for (const [name, sql] of ofBackup) applied.push(...(await statementsOf(sql)), insertMigration(name));
  await database.run([
    ...[...dropped, MARKER].map((name) => `DROP TABLE IF EXISTS "${name}"`),
    `CREATE TABLE ${MARKER} (digest TEXT NOT NULL)`,
    `INSERT INTO ${MARKER} VALUES ('${digest}')`,
    CREATE_MIGRATIONS,
    ...applied,
  ]);
  const tables = await readTables(database);
  for (const [name, { columns }] of Object.entries(manifest.tables)) {
    const table = tables.find((known) => known.name === name);
    if (table?.columns.join() === columns.join()) continue;
    throw new Error(`The backup has the table ${name} with other columns than its migrations make.`);
  }
}

const insertMigration = (name: string) => `INSERT INTO d1_migrations (name) VALUES ('${name}')`;

/** Inserts the rows of a table that are not there. */
async function load(
  database: Database,
  folder: string,
  table: Table & Manifest["tables"][string],
  terminal: Terminal,
): Promise<void> {
  const { name, columns, rows } = table;
  const [[row] = []] = await database.run([`SELECT CAST(max(id) AS TEXT) AS last FROM "${name}"`]);
  const last = row?.["last"] == null ? undefined : BigInt(String(row["last"]));
  const values = columns.map((column) => `value ->> '$.${column}'`).join(", ");
  let [page, characters, pages]: [Line[], number, number] = [[], 0, 0];
  const send = async () => {
    const [first] = page;
    if (first === undefined) return;
    // A page is whole or not there, so a statement that is sent again after a lost response does nothing.
    await database.load(
      `INSERT INTO "${name}" (${columns.map((column) => `"${column}"`).join(", ")})
       SELECT ${values} FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM "${name}" WHERE id = ${first.id})`,
      `[${page.map(({ line }) => line).join(",")}]`,
    );
    if (++pages % PROGRESS === 0) terminal.say(`${name}: up to id ${page.at(-1)?.id}`);
    [page, characters] = [[], 0];
  };
  for await (const next of readLines(folder, name, table)) {
    if (last !== undefined && BigInt(next.id) <= last) continue;
    if (page.length === PAGE_ROWS || characters + next.line.length > PAGE_CHARACTERS) await send();
    page.push(next);
    characters += next.line.length;
  }
  await send();
  terminal.say(`${name}: ${rows.toLocaleString("en")} rows`);
}

/** Reads every row back. @throws Error when a table does not have the rows of the backup. */
async function compare(database: Database, { tables }: Manifest): Promise<void> {
  for (const [name, { columns, rows, sha256: expected }] of Object.entries(tables)) {
    if (name === "events") continue;
    const hash = createHash("sha256");
    let found = 0;
    for await (const lines of pagesOf(database, { name, columns })) {
      for (const { line } of lines) hash.update(`${line}\n`);
      found += lines.length;
    }
    if (found === rows && hash.digest("hex") === expected) continue;
    throw new Error(
      `${name} does not have the rows of the backup: ${found} of ${rows}. Did the service write to ${database.name}? ` +
        `Stop it, and restore again with --overwrite ${database.name}.`,
    );
  }
}

/** Raises the counters and starts the feed anew, in one transaction that may run twice. With it, the restore is done. */
async function finish(database: Database, { counters, moment }: Manifest): Promise<void> {
  const raised = (id: string) => {
    const sum = BigInt(id) + MARGIN;
    return sum > MAX_ID ? MAX_ID : sum;
  };
  await database.run([
    ...Object.entries(counters).flatMap(([table, id]) => [
      `INSERT INTO sqlite_sequence (name, seq) SELECT '${table}', 0
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '${table}')`,
      `UPDATE sqlite_sequence SET seq = ${raised(id)} WHERE name = '${table}'`,
    ]),
    "DELETE FROM events",
    // Above every event of the lost history, so that each cursor of before expires.
    `INSERT INTO events (id, tag, type, version, data, created_at)
      VALUES (${raised(moment.event.id)}, random() & 4294967295, 'feed.started', 0, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
    `DROP TABLE IF EXISTS ${MARKER}`,
  ]);
}
