import type { DatabaseSync } from "node:sqlite";
import { oneLine } from "../one-line.ts";
import { readLines } from "./archive.ts";
import { checkTables, type Migrations } from "./checks.ts";
import { type Database, databaseOf } from "./connection.ts";
import type { Manifest } from "./manifest.ts";
import { refuseWrongIds } from "./next-ids.ts";
import type { Counters } from "./progress.ts";
import { findDifference, finish, migrate, prepare } from "./replace.ts";
import { selectMaximum } from "./tables.ts";

/**
 * Restores a backup into SQLite on this machine, so that one that cannot be restored replaces nothing. Its digests alone do not tell: who may
 * write to the backup can write them too.
 *
 * @param sqlite is empty, and then has the rows of the backup.
 * @param age of the backup in milliseconds.
 * @throws Error when the backup is incomplete or damaged, and when its rows are not what its migrations and its manifest allow.
 */
export async function rehearse(
  sqlite: DatabaseSync,
  folder: string,
  manifest: Manifest,
  migrations: Migrations,
  age: bigint,
): Promise<void> {
  const database = databaseOf(sqlite, manifest.database);
  await prepare(database, manifest, migrations, { digest: "", counters: {}, loaded: false });
  await checkTables(manifest, database);
  const largest: Counters = {};
  for (const [name, table] of Object.entries(manifest.tables)) {
    // A migration begins the feed.
    sqlite.exec(`BEGIN; DELETE FROM "${name}"`);
    const values = table.columns.map((column) => `?1 ->> '$.${column}'`);
    const insert = sqlite.prepare(`INSERT INTO "${name}" (${table.columns.join()}) VALUES (${values.join()})`);
    for await (const line of readLines(folder, name, table)) {
      try {
        insert.run(line);
      } catch (error) {
        throw new Error(`${name} is damaged: ${oneLine(error)}`, { cause: error });
      }
    }
    sqlite.exec("COMMIT");
    await refuseOtherTypes(database, name);
    const [[last] = []] = await database.run([selectMaximum({ name })]);
    if (last?.["id"] != null) largest[name] = String(last["id"]);
  }
  const difference = await findDifference(database, manifest.tables);
  if (difference !== undefined) throw new Error(`${difference.name} is damaged: its lines are not those of its rows.`);
  refuseWrongIds(manifest, largest, age);
  sqlite.exec("BEGIN");
  await migrate(database, migrations.later);
  await finish(database, manifest, {}, age);
  sqlite.exec("ROLLBACK");
}

/** @throws Error when a column has a value of another type than its own, which SQLite allows. */
async function refuseOtherTypes(database: Database, table: string): Promise<void> {
  const [columns = []] = await database.run([`SELECT name, lower(type) AS type FROM pragma_table_info('${table}')`]);
  for (const { name, type } of columns) {
    const [[row] = []] = await database.run([
      `SELECT CAST(id AS TEXT) AS id FROM "${table}" WHERE typeof("${name}") NOT IN ('null', '${type}') LIMIT 1`,
    ]);
    if (row !== undefined) throw new Error(`${table} is damaged: the row ${row["id"]} has no ${type} as its ${name}.`);
  }
}
