import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "./connection.ts";
import { type Manifest, sha256 } from "./manifest.ts";
import { readTables, SELECT_COUNTED } from "./tables.ts";

// Whether this code can restore a backup: the migrations and the tables of its manifest are those that the code has.

const MIGRATIONS = join(import.meta.dirname, "../../drizzle");

export type MigrationFiles = [name: string, sql: string][];
export interface Migrations {
  ofBackup: MigrationFiles;
  later: MigrationFiles;
}

export const migrationFiles = (): MigrationFiles =>
  readdirSync(MIGRATIONS)
    .filter((file) => file.endsWith(".sql"))
    .toSorted()
    .map((file) => [file, readFileSync(join(MIGRATIONS, file), "utf8")]);

/** The migrations of this code: those of the backup, and the later ones. @throws Error when they are not the same. */
export function readMigrationFiles({ migrations }: Manifest): Migrations {
  const all = migrationFiles();
  for (const [index, { name, sha256: expected }] of migrations.entries()) {
    const [file, sql = ""] = all[index] ?? [];
    if (file === name && sha256(sql) === expected) continue;
    const known = all.some(([other]) => other === name) ? "Its text differs here." : "This code does not have it.";
    throw new Error(`The backup has the migration ${name}. ${known} Restore it with the code that wrote it, or newer.`);
  }
  return { ofBackup: all.slice(0, migrations.length), later: all.slice(migrations.length) };
}

/** @throws Error when the tables and the counters of a backup are not those of a database with its migrations. */
export async function checkTables({ tables, counters }: Manifest, database: Database): Promise<void> {
  const made = await readTables(database);
  const [counted = []] = await database.run([SELECT_COUNTED]);
  const columns = new Map(made.map((table) => [table.name, table.columns.join()]));
  for (const name of new Set([...columns.keys(), ...Object.keys(tables)])) {
    if (columns.get(name) === tables[name]?.columns.join()) continue;
    throw new Error(`The backup has other columns in the table ${name} than its migrations make.`);
  }
  for (const name of counted.map((table) => String(table["name"]))) {
    if (counters[name] === undefined) throw new Error(`The backup does not say which id ${name} gave out last.`);
  }
}
