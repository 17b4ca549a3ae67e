import { createHash } from "node:crypto";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import type { Terminal } from "../terminal.ts";
import type { MigrationFiles, Migrations } from "./checks.ts";
import type { Database } from "./connection.ts";
import type { Manifest } from "./manifest.ts";
import { largerId, raiseId } from "./next-ids.ts";
import type { Counters, Progress } from "./progress.ts";
import {
  BEFORE_ALL,
  DERIVED_TABLES,
  namesOfTables,
  OWN_TABLES,
  pagesOf,
  PROGRESS_TABLE,
  readMigrations,
  recordBackup,
  SELECT_COUNTED,
  selectMaximum,
  selectValues,
  STOPPED_TABLE,
  type Table,
} from "./tables.ts";

// The steps that replace the contents of a database by those of a backup: of a rehearsal, and of the restore.

/** Bytes of the values in one statement. D1 documents 2,000,000 for a text, and a byte takes up to six in JSON. */
const LOAD_BYTES = 250_000;
/** Pages between two lines of progress. */
const PROGRESS = 100;
const CREATE_MIGRATIONS = `CREATE TABLE d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

/** Gives the database the empty tables of the backup, in one transaction that may run twice. */
export async function prepare(
  database: Database,
  { tables }: Manifest,
  { ofBackup }: Migrations,
  { digest, counters }: Progress,
): Promise<void> {
  const dropped = (await namesOfTables(database)).filter(
    (name) => !/^(?:sqlite_|_cf_)/.test(name) && !OWN_TABLES.includes(name),
  );
  // Those that this transaction creates are dropped too, for its second time.
  const all = new Set([...dropped, ...Object.keys(tables), ...DERIVED_TABLES, "d1_migrations", PROGRESS_TABLE]);
  await database.run([
    ...[...all].map((name) => `DROP TABLE IF EXISTS "${name.replaceAll('"', '""')}"`),
    `CREATE TABLE ${PROGRESS_TABLE} (digest TEXT NOT NULL, counters TEXT NOT NULL, loaded INTEGER NOT NULL)`,
    `INSERT INTO ${PROGRESS_TABLE} VALUES ('${digest}', '${JSON.stringify(counters).replaceAll("'", "''")}', 0)`,
    CREATE_MIGRATIONS,
    ...ofBackup.flatMap(([name, sql]) => [...splitSqlQuery(sql), insertMigration(name)]),
  ]);
}

const insertMigration = (name: string) => `INSERT INTO d1_migrations (name) VALUES ('${name}')`;

/** Applies the migrations that the database does not have. */
export async function migrate(database: Database, later: MigrationFiles): Promise<void> {
  const applied = await readMigrations(database);
  for (const [name, sql] of later) {
    if (applied.includes(name)) continue;
    try {
      await database.run([...splitSqlQuery(sql), insertMigration(name)]);
    } catch (error) {
      // A migration whose response is lost is sent again, and fails.
      if (!(await readMigrations(database)).includes(name)) throw error;
    }
  }
}

/** Inserts the rows of a table that are not there, from another database. */
export async function load(database: Database, source: Database, table: Table, terminal: Terminal): Promise<void> {
  const { name, columns } = table;
  const [[last] = []] = await database.run([selectMaximum(table)]);
  const after = last?.["id"] == null ? BEFORE_ALL : String(last["id"]);
  let pages = 0;
  for await (const lines of pagesOf(source, table, after, LOAD_BYTES)) {
    // A page is whole or not there, so a statement that is sent again after a lost response does nothing.
    await database.load(
      `INSERT INTO "${name}" (${columns.map((column) => `"${column}"`).join(", ")})
       ${selectValues(table)} WHERE NOT EXISTS (SELECT 1 FROM "${name}" WHERE id = ${lines[0]?.id})`,
      `[${lines.map(({ line }) => line).join(",")}]`,
    );
    if (++pages % PROGRESS === 0) terminal.say(`${name}: up to id ${lines.at(-1)?.id}`);
  }
}

/** Reads every row back. The first table that does not have the rows of the backup, and how many it has. */
export async function findDifference(
  database: Database,
  tables: Manifest["tables"],
): Promise<{ name: string; found: number } | undefined> {
  for (const [name, { columns, rows, sha256: expected }] of Object.entries(tables)) {
    const hash = createHash("sha256");
    let found = 0;
    for await (const lines of pagesOf(database, { name, columns })) {
      for (const { line } of lines) hash.update(`${line}\n`);
      found += lines.length;
    }
    if (found !== rows || hash.digest("hex") !== expected) return { name, found };
  }
  return undefined;
}

/**
 * Disables the webhooks, raises the counters and starts the feed anew, in one transaction that may run twice. With it, the restore is done.
 *
 * @param before the counters of the data that was replaced.
 */
export async function finish(database: Database, manifest: Manifest, before: Counters, age: bigint): Promise<void> {
  const { counters, moment } = manifest;
  // A table that is newer than the backup may have given out ids too.
  const [counted = []] = await database.run([SELECT_COUNTED]);
  await database.run([
    ...counted
      .map(({ name }) => String(name))
      .flatMap((table) => [
        `INSERT INTO sqlite_sequence (name, seq) SELECT '${table}', 0
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '${table}')`,
        `UPDATE sqlite_sequence SET seq = ${raiseId(largerId(counters[table] ?? "0", before[table]), age)} WHERE name = '${table}'`,
      ]),
    // A copy elsewhere must not deliver to the receivers of production.
    "UPDATE webhooks SET enabled = 0, version = version + 1 WHERE enabled = 1",
    // A run of the hourly job may have begun to fill it.
    "UPDATE search_index SET rules = ''",
    "DELETE FROM events",
    // Above every event of both histories, so that each cursor of before expires.
    `INSERT INTO events (id, tag, type, version, data, created_at)
      VALUES (${raiseId(largerId(moment.event.id, before["events"]), age)}, random() & 4294967295, 'feed.started', 0, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
    ...(manifest.database === database.name ? recordBackup(moment.time) : []),
    // It noted versions of the webhooks that were replaced.
    `DROP TABLE IF EXISTS ${STOPPED_TABLE}`,
    `DROP TABLE IF EXISTS ${PROGRESS_TABLE}`,
  ]);
}
