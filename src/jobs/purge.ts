import { BATCH_SIZE } from "../db/purge.ts";
import { runAlone } from "../db/run-alone.ts";
import type { Statement } from "../db/statement.ts";
import { forgetOldestEvents } from "../feed/purge.ts";
import { forgetOldestKeys } from "../idempotency/purge.ts";

/** Maximum number of statements in one run. An invocation of a Worker may have 1,000, and 50 on the Free plan (D1 documentation, Limits). */
export const MAX_BATCHES = 900;

/** What a run of the job did with a table. */
export interface Forgotten {
  /** Number of rows that it removed. */
  count: number;
  /** Whether it removed all that are old. If not, the next run continues. */
  finished: boolean;
}

/**
 * Removes the expired keys and the old events, or as many as one run may.
 *
 * @param eventDays for which events are kept. Anything but a number keeps all of them.
 * @param maxBatches maximum number of statements.
 * @throws Error of D1, when it fails before anything was removed.
 */
export async function forgetOld(
  database: D1Database,
  eventDays: unknown,
  maxBatches = MAX_BATCHES,
): Promise<{ keys: Forgotten; events: Forgotten }> {
  const forgotten = { keys: { count: 0, finished: false }, events: { count: 0, finished: false } };
  const statements: { [table in keyof typeof forgotten]: Statement<never> } = {
    keys: forgetOldestKeys({}),
    // D1 refuses to bind a setting that is missing (docs/standards.md).
    events: forgetOldestEvents({ days: String(eventDays) }),
  };
  // They take turns, so that neither uses up the statements of every run.
  let tables = Object.keys(statements) as (keyof typeof forgotten)[];
  for (let batch = 0; batch < maxBatches && tables.length > 0; batch++) {
    const table = tables[batch % tables.length] as keyof typeof forgotten;
    try {
      const { meta } = await runAlone(database, statements[table]);
      forgotten[table].count += meta.changes;
      if (meta.changes >= BATCH_SIZE) continue;
      forgotten[table].finished = true;
      tables = tables.filter((other) => other !== table);
    } catch (error) {
      // Perhaps at the limit of the plan. Another failure meets the first statement of the next run as well.
      if (forgotten.keys.count + forgotten.events.count === 0) throw error;
      break;
    }
  }
  return forgotten;
}
