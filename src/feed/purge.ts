import { asc, lt, max, sql } from "drizzle-orm";
import { BATCH_SIZE } from "../db/purge.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { events } from "./table.ts";

/**
 * Removes the oldest events, but not the newest of those that are too old: a consumer that had read it goes on from its row. So the
 * table is never empty, and no id is used again.
 */
export const forgetOldestEvents = compile("purge.events", (db, parameter: Parameter<{ days: string }>) => {
  const oldest = db
    .select({ id: events.id, createdAt: events.createdAt })
    .from(events)
    .orderBy(asc(events.id))
    // The newest of them stays.
    .limit(BATCH_SIZE + 1)
    .as("oldest");
  const newestTooOld = db
    .select({ id: max(oldest.id) })
    .from(oldest)
    .where(lt(oldest.createdAt, sql`strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || ${parameter("days")} || ' days')`));
  return db.delete(events).where(lt(events.id, newestTooOld));
});
