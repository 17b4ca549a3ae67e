import { DatabaseSync } from "node:sqlite";
import { Interruption, StatedFailure } from "../interruption.ts";
import type { Terminal } from "../terminal.ts";
import { type Migrations, readMigrationFiles } from "./checks.ts";
import { confirmSource, refuseData } from "./consent.ts";
import { type Database, databaseOf } from "./connection.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { ageOf, refuseHighIds } from "./next-ids.ts";
import { type Counters, type Progress, readProgress } from "./progress.ts";
import { rehearse } from "./rehearsal.ts";
import { findDifference, finish, load, migrate, prepare } from "./replace.ts";
import { PROGRESS_TABLE, readMigrations, rowsOf } from "./tables.ts";

const REPEAT = "Do not let the service use it. Repeat the command: it goes on.";

export interface RestoreOptions {
  /** The name of a database whose data is replaced. */
  overwrite?: string;
  /** The name of the database of the backup, which may be another one. */
  source?: string;
}

/** What is known before anything changes. */
interface Plan {
  manifest: Manifest;
  digest: string;
  migrations: Migrations;
  overwrite: string | undefined;
  /** Of the backup, in milliseconds. */
  age: bigint;
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
  terminal.say(`Reading the backup of ${manifest.database} as it was at ${manifest.moment.time} ...`);
  const age = await ageOf(manifest, database);
  using sqlite = new DatabaseSync("");
  await rehearse(sqlite, folder, manifest, migrations, age);
  const rehearsal = databaseOf(sqlite, manifest.database);

  // The feed begins anew.
  const { events: _, ...tables } = manifest.tables;
  const lease = await database.takeLease?.(`the restore of a backup of ${manifest.database}`);
  if (lease !== undefined) interruption.cleanUp = () => lease.free();
  try {
    const progress = await begin(database, { manifest, digest, migrations, overwrite, age }, terminal, interruption);
    if (!progress.loaded) {
      interruption.state = `${database.name} has a part of the backup, and nothing of its earlier data. ${REPEAT}`;
      for (const [name, table] of Object.entries(tables)) {
        await lease?.confirm();
        await load(database, rehearsal, { name, ...table }, terminal);
        terminal.say(`${name}: ${table.rows.toLocaleString("en")} rows`);
      }
      await compare(database, tables);
      // Not that of another restore, which took the lease while this one could not renew it.
      await database.run([`UPDATE ${PROGRESS_TABLE} SET loaded = 1 WHERE digest = '${digest}'`]);
    }
    // The last transaction may reach the database without its response.
    interruption.state = `${database.name} has all rows of the backup, but perhaps not its counters and its feed. ${REPEAT}`;
    await lease?.confirm();
    await migrate(database, migrations.later);
    await finish(database, manifest, progress.counters, age);
    interruption.state = `The restore has ended: ${database.name} is as it was at ${manifest.moment.time}.`;
  } finally {
    await lease?.free();
  }
  return manifest;
}

/** Goes on with the restore of the same backup, or begins one. @throws Error when nobody allows to replace the data. */
async function begin(
  database: Database,
  { manifest, digest, migrations, overwrite, age }: Plan,
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
  // Not from rows that an earlier restore brought, and that were refused afterwards.
  const progress = { digest, counters: begun?.counters ?? (await readCounters(database)), loaded: false };
  refuseHighIds(database.name, progress.counters, age);
  interruption.state = `${database.name} has its earlier data, or the empty tables of the backup. ${REPEAT}`;
  await prepare(database, manifest, migrations, progress);
  return progress;
}

/** The counters of the data that is replaced. The feed has none, so that its newest event counts. */
async function readCounters(database: Database): Promise<Counters> {
  const rows = [
    ...(await rowsOf(database, "sqlite_sequence", "SELECT name, CAST(seq AS TEXT) AS seq FROM sqlite_sequence")),
    ...(await rowsOf(
      database,
      "events",
      "SELECT 'events' AS name, CAST(ifnull(max(id), 0) AS TEXT) AS seq FROM events",
    )),
  ];
  return Object.fromEntries(rows.map(({ name, seq }) => [String(name), String(seq)]));
}

/** @throws Error when a table does not have the rows of the backup. */
async function compare(database: Database, tables: Manifest["tables"]): Promise<void> {
  const difference = await findDifference(database, tables);
  if (difference === undefined) return;
  const { name, found } = difference;
  // A repetition that goes on would find the same rows. It begins anew.
  await database.run([`UPDATE ${PROGRESS_TABLE} SET digest = ''`]);
  throw new StatedFailure(
    `${name} does not have the rows of the backup: ${found} of ${tables[name]?.rows}. Did the service write to ${database.name}? ` +
      `Stop it, and restore again with --overwrite ${database.name}.`,
  );
}
