import { createHash } from "node:crypto";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import type { Terminal } from "../terminal.ts";
import { readLines, verify } from "./archive.ts";
import { checkTables, type MigrationFiles, type Migrations, readMigrationFiles } from "./checks.ts";
import { confirmSource, refuseData } from "./consent.ts";
import type { Database } from "./connection.ts";
import { Interruption, StatedFailure } from "../interruption.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { ageOf, largerId, raiseId, refuseHighIds, refuseWrongIds } from "./next-ids.ts";
import { type Counters, type Progress, PROGRESS_TABLE, readProgress } from "./progress.ts";
import {
  DERIVED_TABLES,
  type Line,
  OWN_TABLES,
  pagesOf,
  readMigrations,
  recordBackup,
  SELECT_COUNTED,
  selectMaximum,
  type Table,
} from "./tables.ts";

/** Characters of JSON in one statement. D1 takes 2 MB, and a character takes up to three bytes. */
const PAGE_CHARACTERS = 500_000;
const PAGE_ROWS = 2_000;
/** Pages between two lines of progress. */
const PROGRESS = 100;
const CREATE_MIGRATIONS = `CREATE TABLE d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

const REPEAT = "Do not let the service use it. Repeat the command: it goes on.";

export interface RestoreOptions {
  /** The name of a database whose data is replaced. */
  overwrite?: string;
  /** The name of the database of the backup, which may be another one. */
  source?: string;
}

/**
 * Replaces the contents of a database by those of a backup. The service may not serve it meanwhile. After an interruption, a repetition
 * goes on where the last attempt ended.
 *
 * @throws Error before it changes anything: when the backup is incomplete, damaged, from newer code or of another database that nobody names,
 *   when its ids or its moment cannot be true, and when the database has data and nobody says that it may be replaced.
 *   Later only when the database fails, or when it does not have the data of the backup in the end.
 */
export async function restoreDatabase(
  database: Database,
  folder: string,
  { overwrite, source }: RestoreOptions,
  terminal: Terminal,
  interruption = new Interruption(),
): Promise<Manifest> {
  const { manifest, digest } = readManifest(folder);
  await confirmSource(manifest, database, source, terminal);
  if (manifest.format === 1)
    terminal.say("Nothing proves the manifest of this backup: its format 1 has no digest of the manifest.");
  const migrations = readMigrationFiles(manifest);
  await checkTables(manifest, migrations);
  terminal.say(`Reading the backup of ${manifest.database} as it was at ${manifest.moment.time} ...`);
  const age = await ageOf(manifest, database);
  refuseWrongIds(manifest, await verify(folder, manifest), age);

  const lease = await database.takeLease?.(`the restore of a backup of ${manifest.database}`);
  if (lease !== undefined) interruption.cleanUp = () => lease.free();
  try {
    const progress = await begin(database, manifest, { digest, migrations, overwrite, age }, terminal, interruption);
    if (!progress.loaded) {
      interruption.state = `${database.name} has a part of the backup, and nothing of its earlier data. ${REPEAT}`;
      for (const [name, table] of Object.entries(manifest.tables)) {
        await lease?.confirm();
        if (name !== "events") await load(database, folder, { name, ...table }, terminal);
      }
      await compare(database, manifest);
      // Not that of another restore, which took the lease while this one could not renew it.
      await database.run([`UPDATE ${PROGRESS_TABLE} SET loaded = 1 WHERE digest = '${digest}'`]);
    }
    // The last transaction may reach the database without its response.
    interruption.state = `${database.name} has all rows of the backup, but perhaps not its counters and its feed. ${REPEAT}`;
    await lease?.confirm();
    await migrate(database, migrations.later);
    await finish(database, manifest, progress.counters);
    interruption.state = `The restore has ended: ${database.name} is as it was at ${manifest.moment.time}.`;
  } finally {
    await lease?.free();
  }
  return manifest;
}

/** Goes on with the restore of the same backup, or begins one. @throws Error when nobody allows to replace the data. */
async function begin(
  database: Database,
  manifest: Manifest,
  {
    digest,
    migrations,
    overwrite,
    age,
  }: { digest: string; migrations: Migrations; overwrite: string | undefined; age: bigint },
  terminal: Terminal,
  interruption: Interruption,
): Promise<Progress> {
  const begun = await readProgress(database);
  if (begun?.digest === digest) {
    const applied = await readMigrations(database);
    // A release in between may have changed the rows that are there.
    if (begun.loaded || applied.join() === manifest.migrations.map(({ name }) => name).join()) {
      terminal.say("Going on with the restore that was interrupted.");
      return begun;
    }
  }
  await refuseData(database, overwrite);
  const progress = { digest, counters: await readCounters(database, begun?.counters), loaded: false };
  refuseHighIds(database.name, progress.counters, age);
  interruption.state = `${database.name} has its earlier data, or the empty tables of the backup. ${REPEAT}`;
  await prepare(database, manifest, migrations, progress);
  return progress;
}

/** The SELECT of the largest ids, by the table that has them. The feed has no counter. */
const COUNTERS: { [table: string]: string } = {
  sqlite_sequence: "SELECT name, CAST(seq AS TEXT) AS seq FROM sqlite_sequence",
  events: "SELECT 'events' AS name, CAST(ifnull(max(id), 0) AS TEXT) AS seq FROM events",
};

/** The counters of the data that is replaced, and of that from before an earlier restore which did not end. */
async function readCounters(database: Database, before: Counters = {}): Promise<Counters> {
  const [tables = []] = await database.run(["SELECT name FROM sqlite_schema WHERE type = 'table'"]);
  const sources = tables.flatMap(({ name }) => COUNTERS[String(name)] ?? []);
  const rows = sources.length === 0 ? [] : await database.run(sources);
  const counters = { ...before };
  for (const { name, seq } of rows.flat()) counters[String(name)] = largerId(String(seq), counters[String(name)]);
  return counters;
}

/** Gives the database the empty tables of the backup, in one transaction that may run twice. */
async function prepare(
  database: Database,
  { tables }: Manifest,
  { ofBackup }: Migrations,
  { digest, counters }: Progress,
): Promise<void> {
  const [found = []] = await database.run(["SELECT name FROM sqlite_schema WHERE type = 'table'"]);
  const dropped = found
    .map(({ name }) => String(name))
    .filter((name) => !/^(?:sqlite_|_cf_)/.test(name) && !OWN_TABLES.includes(name));
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
async function migrate(database: Database, later: MigrationFiles): Promise<void> {
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

/** Inserts the rows of a table that are not there. */
async function load(
  database: Database,
  folder: string,
  table: Table & Manifest["tables"][string],
  terminal: Terminal,
): Promise<void> {
  const { name, columns, rows } = table;
  const [[row] = []] = await database.run([selectMaximum(table)]);
  const last = row?.["id"] == null ? undefined : BigInt(String(row["id"]));
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
    // A repetition that goes on would find the same rows. It begins anew.
    await database.run([`UPDATE ${PROGRESS_TABLE} SET digest = ''`]);
    throw new StatedFailure(
      `${name} does not have the rows of the backup: ${found} of ${rows}. Did the service write to ${database.name}? ` +
        `Stop it, and restore again with --overwrite ${database.name}.`,
    );
  }
}

/**
 * Disables the webhooks, raises the counters and starts the feed anew, in one transaction that may run twice. With it, the restore is done.
 */
async function finish(database: Database, manifest: Manifest, before: Counters): Promise<void> {
  const { counters, moment } = manifest;
  const age = await ageOf(manifest, database);
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
    "DELETE FROM events",
    // Above every event of both histories, so that each cursor of before expires.
    `INSERT INTO events (id, tag, type, version, data, created_at)
      VALUES (${raiseId(largerId(moment.event.id, before["events"]), age)}, random() & 4294967295, 'feed.started', 0, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
    ...(manifest.database === database.name ? recordBackup(moment.time) : []),
    `DROP TABLE IF EXISTS ${PROGRESS_TABLE}`,
  ]);
}
