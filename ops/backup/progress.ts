import type { Database } from "./connection.ts";
import { PROGRESS_TABLE, rowsOf } from "./tables.ts";

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
  const [row] = await rowsOf(database, PROGRESS_TABLE, `SELECT digest, counters, loaded FROM ${PROGRESS_TABLE}`);
  if (row === undefined) return undefined;
  const counters = JSON.parse(String(row["counters"])) as Counters;
  return { digest: String(row["digest"]), counters, loaded: row["loaded"] === 1 };
}
