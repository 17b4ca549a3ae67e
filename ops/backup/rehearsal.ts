import { DatabaseSync } from "node:sqlite";
import { oneLine } from "../one-line.ts";
import { verify } from "./archive.ts";
import { checkTables, type Migrations } from "./checks.ts";
import type { Database, Row } from "./connection.ts";
import type { Manifest } from "./manifest.ts";
import { refuseWrongIds } from "./next-ids.ts";
import { findDifference, finish, load, migrate, prepare } from "./replace.ts";

const SILENT = { print: () => {}, say: () => {}, read: async () => "" };

/**
 * Restores a backup into SQLite on this machine, so that one that cannot be restored replaces nothing. Its digests alone do not tell: who may
 * write to the backup can write them too.
 *
 * @param age of the backup in milliseconds.
 * @throws Error when the backup is incomplete or damaged, and when its rows are not what its migrations and its manifest allow.
 */
export async function rehearse(folder: string, manifest: Manifest, migrations: Migrations, age: bigint): Promise<void> {
  const { tables } = manifest;
  const database = openTemporary(manifest.database);
  try {
    await prepare(database, manifest, migrations, { digest: "", counters: {}, loaded: false });
    await checkTables(manifest, database);
    refuseWrongIds(manifest, await verify(folder, manifest), age);
    for (const [name, table] of Object.entries(tables)) {
      // A migration begins the feed.
      await database.run([`DELETE FROM "${name}"`]);
      await load(database, folder, { name, ...table }, SILENT).catch((error: unknown) => {
        throw new Error(`${name} is damaged: ${oneLine(error)}`, { cause: error });
      });
      await refuseOtherTypes(database, name);
    }
    const difference = await findDifference(database, tables);
    if (difference !== undefined)
      throw new Error(`${difference.name} is damaged: its lines are not those of its rows.`);
    await migrate(database, migrations.later);
    await finish(database, manifest, {}, age);
  } finally {
    await database.close();
  }
}

/** A database that SQLite keeps in memory, and on the disk when it is large. */
function openTemporary(name: string): Database {
  const sqlite = new DatabaseSync("");
  return {
    name,
    run: async (statements) => statements.map((statement) => sqlite.prepare(statement).all() as Row[]),
    load: async (statement, parameter) => void sqlite.prepare(statement).run(parameter),
    close: async () => sqlite.close(),
  };
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
