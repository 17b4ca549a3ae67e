import { count } from "drizzle-orm";
import type { Context } from "hono";
import { guard } from "../http/guard.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { IsolateCache } from "../isolate-cache.ts";
import { setAge } from "../http/read.ts";
import { jsonText } from "../http/respond.ts";
import { openSessionAt, sentBookmark } from "../http/open-session.ts";
import { PET_STATUSES, type PetStatus, pets } from "../pets/table.ts";

/** How many animals have each status. */
export type Inventory = { [status in PetStatus]: number };

/** Reads one row of an index for each animal. */
export const countPets = compile((db) =>
  db
    .select({ status: pets.status, count: count().as("count") })
    .from(pets)
    .groupBy(pets.status),
);

/** Milliseconds for which a count stands. A count reads the whole index, so callers must not decide how often it runs. */
export const COUNT_MILLISECONDS = 10_000;
/** Milliseconds after which a count is given up: a query of D1 ends after 30 seconds, and a client that leaves may end its request before. */
const LONGEST_COUNT_MILLISECONDS = 30_000;

/** The last count of the isolate, as JSON. */
const counts = new IsolateCache<string>(1);
const KEY = "inventory";
/** When the count that runs began, in milliseconds since the epoch. */
let runningSince: number | undefined;

async function respond(c: Context<AppEnv>) {
  // Checked, and not used: a count promises nobody their own writes, and a bookmark could hold it up.
  sentBookmark(c);
  const isRunning = runningSince !== undefined && Date.now() - runningSince < LONGEST_COUNT_MILLISECONDS;
  const last = counts.get(KEY, isRunning ? Infinity : COUNT_MILLISECONDS);
  if (last !== undefined) {
    setAge(c, last.readAt);
    return jsonText<Inventory, 200>(c, last.value, 200);
  }
  const readAt = Date.now();
  runningSince = readAt;
  try {
    const rows = await openSessionAt(c, undefined).read(countPets({}));
    const inventory = Object.fromEntries(PET_STATUSES.map((status) => [status, 0]));
    for (const row of rows) inventory[row.status] = row.count;
    const body = JSON.stringify(inventory);
    counts.set(KEY, body, readAt);
    return jsonText<Inventory, 200>(c, body, 200);
  } finally {
    if (runningSince === readAt) runningSince = undefined;
  }
}

export const getInventory = createHandlers(
  guard("store:read"),
  withFacts(respond, { operationId: "getInventory", headers: ["Age"] }),
);
