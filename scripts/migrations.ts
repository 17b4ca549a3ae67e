import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";

// `wrangler d1 migrations apply` starts the runtime once per query, which takes longer than the rest of `npm run dev`. wrangler
// exports no function that applies migrations to persistent storage. This one uses wrangler's own table, so that both agree on
// the applied migrations.

/** The same as wrangler's, with its default name. */
const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS "d1_migrations"(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);`;

/**
 * Applies the migrations of a folder (`*.sql`, in the order of their names) that the database does not have. Each is one
 * transaction together with its entry in the table, so an interrupted run leaves nothing half done.
 *
 * @throws Error of D1 when a migration fails. The earlier ones stay applied.
 */
export async function applyMigrations(database: D1Database, folder: string): Promise<void> {
  const [, applied] = await database.batch<{ name: string }>([
    database.prepare(CREATE_TABLE),
    database.prepare('SELECT name FROM "d1_migrations"'),
  ]);
  const done = new Set(applied?.results.map(({ name }) => name));
  for (const name of readdirSync(folder).toSorted()) {
    if (!name.endsWith(".sql") || done.has(name)) continue;
    const statements = splitSqlQuery(readFileSync(join(folder, name), "utf8"));
    await database.batch([
      ...statements.map((statement) => database.prepare(statement)),
      database.prepare('INSERT INTO "d1_migrations" (name) VALUES (?)').bind(name),
    ]);
  }
}
