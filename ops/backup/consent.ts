import type { Terminal } from "../terminal.ts";
import type { Database } from "./connection.ts";
import type { Manifest } from "./manifest.ts";
import { readTables } from "./tables.ts";

// What a person has to say before a restore replaces data.

/** @throws Error when the backup is of another database, and nobody names that. */
export async function confirmSource(
  { database: source }: Manifest,
  { name }: Database,
  named: string | undefined,
  terminal: Terminal,
): Promise<void> {
  if (named === source || (named === undefined && source === name)) return;
  if (named !== undefined) throw new Error(`--source names ${named}, and the backup is of ${source}.`);
  const what = `This is a backup of ${source}, and the database is ${name}.`;
  if (terminal.ask === undefined) throw new Error(`${what} To restore it all the same, say --source ${source}.`);
  if ((await terminal.ask(`${what} Type ${source} to go on: `)) !== source) throw new Error("Nothing was changed.");
}

/** @throws Error when the database has data that nobody allows to replace. */
export async function refuseData(database: Database, overwrite: string | undefined): Promise<void> {
  const { name } = database;
  if (overwrite === name) return;
  if (overwrite !== undefined) throw new Error(`--overwrite names ${overwrite}, and the database is ${name}.`);
  const tables = (await readTables(database)).filter((table) => table.name !== "events");
  const found = await database.run(["SELECT 1", ...tables.map((table) => `SELECT 1 FROM "${table.name}" LIMIT 1`)]);
  const filled = tables.filter((_, index) => (found[index + 1]?.length ?? 0) > 0).map((table) => table.name);
  if (filled.length === 0) return;
  throw new Error(`${name} has data in ${filled.join(", ")}. To replace all of it, say --overwrite ${name}.`);
}
