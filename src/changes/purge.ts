import { and, asc, inArray, lt, sql } from "drizzle-orm";
import { compile } from "../db/statement.ts";
import { idempotencyKeys } from "./table.ts";

/** Minimum number of seconds for which a key is remembered. The job that removes older ones runs every hour. */
export const LIFETIME_SECONDS = 24 * 60 * 60;
/** Rows that one run of `forgetOldest` reads. */
export const BATCH_SIZE = 1_000;

/** Removes the oldest expired keys. Reads at most one batch, however many keys there are. */
const forgetOldest = compile((db) =>
  db
    .delete(idempotencyKeys)
    .where(
      and(
        inArray(
          idempotencyKeys.id,
          db
            .select({ id: idempotencyKeys.id })
            .from(idempotencyKeys)
            .orderBy(asc(idempotencyKeys.id))
            .limit(BATCH_SIZE),
        ),
        lt(idempotencyKeys.createdAt, sql`unixepoch() - ${LIFETIME_SECONDS}`),
      ),
    ),
);

/** Maximum number of statements in one run. D1 allows 1,000 per invocation of a Worker, and 50 on the Free plan. */
export const MAX_BATCHES = 900;

/**
 * Removes the expired keys, or as many as one run may. The next run continues.
 *
 * @returns how many.
 * @throws Error of D1, when it fails before anything was removed.
 */
export async function forgetExpiredKeys(database: D1Database): Promise<number> {
  const { sql: text, values } = forgetOldest({});
  const statement = database.prepare(text).bind(...values);
  let forgotten = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    let changes: number;
    try {
      ({ changes } = (await statement.run()).meta);
    } catch (error) {
      // After the limit of the plan, every further statement fails. Another failure meets the first statement of the next run as well.
      if (forgotten === 0) throw error;
      break;
    }
    if (changes === 0) break;
    forgotten += changes;
  }
  return forgotten;
}
