import type { Database } from "./connection.ts";

/** In the database until its restore has ended. The last transaction of the restore removes it. */
export const PROGRESS_TABLE = "restore_progress";

/** The largest ids that were given out, by table. */
export type Counters = { [table: string]: string };

export interface Progress {
  /** Of the manifest. */
  digest: string;
  /** Those of the data that is replaced. */
  counters: Counters;
  /** Whether all rows are there. Later migrations follow. */
  loaded: boolean;
}

/** How far the restore is that has not ended, if any. */
export async function readProgress(database: Database): Promise<Progress | undefined> {
  const [[table] = []] = await database.run([`SELECT name FROM sqlite_schema WHERE name = '${PROGRESS_TABLE}'`]);
  if (table === undefined) return undefined;
  const [[row] = []] = await database.run([`SELECT digest, counters, loaded FROM ${PROGRESS_TABLE}`]);
  const counters = JSON.parse(String(row?.["counters"])) as Counters;
  return { digest: String(row?.["digest"]), counters, loaded: row?.["loaded"] === 1 };
}
