import { and, asc, inArray, lt, sql } from "drizzle-orm";
import { BATCH_SIZE } from "../db/purge.ts";
import { compile } from "../db/statement.ts";
import { idempotencyKeys } from "./table.ts";

/** Minimum number of seconds for which a key is remembered. The job that removes older ones runs every hour. */
export const LIFETIME_SECONDS = 24 * 60 * 60;

/** Removes the oldest expired keys. Reads at most one batch, however many keys there are. */
export const forgetOldestKeys = compile("purge.keys", (db) =>
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
