import { readdirSync } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import { type Cloudflare, eventually } from "./cloudflare.ts";

/** Hints for the place of a database, as the API takes them. "auto" leaves it to Cloudflare, which looks at the caller. */
export const LOCATIONS = ["weur", "eeur", "apac", "oc", "wnam", "enam", "auto"];
export const JURISDICTIONS = ["eu", "fedramp", "us"];

const MIGRATIONS = join(import.meta.dirname, "../../drizzle");

export interface Place {
  location?: string;
  jurisdiction?: string;
}

/** The value of an option. @throws InvalidArgumentError */
export function toPlace(value: string): Place {
  if (LOCATIONS.includes(value)) return { location: value };
  if (JURISDICTIONS.includes(value)) return { jurisdiction: value };
  throw new InvalidArgumentError(`A place is one of ${[...LOCATIONS, ...JURISDICTIONS].join(", ")}.`);
}

export interface Database {
  uuid: string;
  name: string;
  jurisdiction?: string | null;
  read_replication?: { mode: string };
  /** Bytes. */
  file_size?: number;
}

/** The database of this name or id. */
export function findDatabase(cloudflare: Cloudflare, name: string): Promise<Database | undefined> {
  return cloudflare.get<Database>(`/d1/database/${name}`);
}

export function createDatabase(cloudflare: Cloudflare, name: string, { location, jurisdiction }: Place) {
  const body = {
    name,
    ...(location !== undefined && location !== "auto" && { primary_location_hint: location }),
    ...(jurisdiction !== undefined && { jurisdiction }),
  };
  return cloudflare.changeOnce<Database>({ method: "POST", path: "/d1/database", body }, () =>
    findDatabase(cloudflare, name),
  );
}

/** Runs statements that do no harm when they run twice, in one transaction. Returns the rows of each. @param params of a single one. */
export async function run<Row>(cloudflare: Cloudflare, id: string, sql: string, params?: string[]): Promise<Row[][]> {
  const request = { method: "POST", path: `/d1/database/${id}/query`, body: { sql, params } } as const;
  return (await cloudflare.send<{ results: Row[] }[]>(request)).map(({ results }) => results);
}

/** Does the same, and returns the rows of the last one. */
export async function query<Row>(cloudflare: Cloudflare, id: string, sql: string): Promise<Row[]> {
  return (await run<Row>(cloudflare, id, sql)).at(-1) ?? [];
}

/** The point in the history of the database to which a restore can return. */
export async function readBookmark(cloudflare: Cloudflare, { uuid, name }: Database): Promise<string> {
  // In case a database that was created a moment ago is in the list before it has a history.
  const answer = await eventually(() =>
    cloudflare.get<{ bookmark: string }>(`/d1/database/${uuid}/time_travel/bookmark`),
  );
  if (answer === undefined) throw new Error(`${name} has no bookmark yet. Try again.`);
  return answer.bookmark;
}

/**
 * Applies the migrations that the database does not have. Each is applied whole or not at all.
 *
 * @param id of the database.
 * @param config of wrangler, with the same id.
 * @throws Error that says how many there are, when one fails.
 */
export async function migrate(cloudflare: Cloudflare, id: string, config: string, terminal: Terminal): Promise<void> {
  const files = readdirSync(MIGRATIONS).filter((file) => file.endsWith(".sql"));
  const { applied, backup, isRestoring } = await readMigrations(cloudflare, id);
  if (isRestoring) throw new Error("A restore of the database has not ended. Repeat it before the release.");
  if (applied.length > 0) terminal.say(`\nLast backup: ${backup ?? "none"}`);
  const countLacking = (names: readonly string[]) => files.filter((file) => !names.includes(file)).length;
  if (countLacking(applied) === 0) return terminal.say("\nThe database has all migrations.");
  try {
    await cloudflare.wrangler(["d1", "migrations", "apply", "DB", `--config=${config}`, "--env=", "--remote"]);
  } catch (error) {
    // The response to one that was applied may be lost.
    const lacking = await readMigrations(cloudflare, id).then(
      (now) => countLacking(now.applied),
      () => undefined,
    );
    if (lacking === 0) return;
    const left =
      lacking === undefined
        ? "Nobody knows which migrations are applied."
        : `Migrations that are not applied: ${lacking}.`;
    throw new Error(`${oneLine(error).replace(/[.;]*$/, ".")} ${left}`, { cause: error });
  }
}

/** The migrations of a database by their names, the time of its last backup, and whether a restore of it goes on. */
async function readMigrations(cloudflare: Cloudflare, id: string) {
  const tables = await query<{ name: string }>(
    cloudflare,
    id,
    "SELECT name FROM sqlite_schema WHERE name IN ('d1_migrations', 'last_backup', 'restore_progress')",
  );
  const has = (table: string) => tables.some(({ name }) => name === table);
  const backup = has("last_backup") ? "(SELECT moment FROM last_backup)" : "NULL";
  const rows = has("d1_migrations")
    ? await query<{ name: string; backup: string | null }>(
        cloudflare,
        id,
        `SELECT name, ${backup} AS backup FROM d1_migrations`,
      )
    : [];
  return { applied: rows.map(({ name }) => name), backup: rows[0]?.backup, isRestoring: has("restore_progress") };
}
