import { and, eq, gte, lt, sql } from "drizzle-orm";
import type { Context } from "hono";
import { guard } from "../http/guard.ts";
import { nowMilliseconds } from "../db/clock.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { createHandlers, withFacts } from "../operation.ts";
import { IsolateCache } from "../isolate-cache.ts";
import { setAge } from "../http/read.ts";
import { jsonText } from "../http/respond.ts";
import { openSessionAt, sentBookmark } from "../http/open-session.ts";
import { PET_STATUSES, type PetStatus, pets } from "../pets/table.ts";
import { inventory } from "./table.ts";

/** How many animals have each status. */
export type Inventory = { [status in PetStatus]: number };

/** Milliseconds for which a count stands at least. */
export const COUNT_MILLISECONDS = 10_000;
/** A count of more animals stands longer, so that this many a second are counted at most. It bounds the load and the price: docs/capacity.md. */
export const COUNTED_A_SECOND = 20_000;

const age = sql<number>`${nowMilliseconds} - ${inventory.countedAt}`;
const lifetime = sql<number>`max(${sql.raw(`${COUNT_MILLISECONDS}`)}, (${inventory.available} + ${inventory.pending} + ${inventory.sold}) / ${sql.raw(`${COUNTED_A_SECOND / 1_000}`)})`;

/**
 * Counts the animals, unless the last count still stands. D1 runs one statement at a time (its documentation, Limits): whoever comes first counts for all isolates, and
 * a second run finds a fresh row. A count from the future does not stand: it is of another history, or the clock was set back.
 */
export const renewCount = compile("getInventory.renew", (db) => {
  const counts = PET_STATUSES.map((status) => sql`(SELECT count(*) FROM ${pets} WHERE ${eq(pets.status, status)})`);
  const fresh = db
    .select({ id: inventory.id })
    .from(inventory)
    .where(and(gte(age, 0), lt(age, lifetime)));
  return db
    .insert(inventory)
    .select(sql`SELECT 1, ${sql.join(counts, sql`, `)}, ${nowMilliseconds} WHERE NOT EXISTS ${fresh}`)
    .onConflictDoUpdate({
      target: inventory.id,
      set: {
        available: sql`excluded.available`,
        pending: sql`excluded.pending`,
        sold: sql`excluded.sold`,
        countedAt: sql`excluded.counted_at`,
      },
    });
});

export const selectCount = compile("getInventory.select", (db) =>
  db
    .select({
      available: inventory.available,
      pending: inventory.pending,
      sold: inventory.sold,
      age: age.as("age"),
      lifetime: lifetime.as("lifetime"),
    })
    .from(inventory),
);

/**
 * Milliseconds for which an isolate still returns its last count while one of its requests asks for the next one. A query of D1 ends after
 * 30 seconds (docs/standards.md), and a client that leaves may end its request before.
 */
const LONGEST_COUNT_MILLISECONDS = 30_000;

/** The last count that the isolate got, as JSON, and the milliseconds for which it stands. */
const counts = new IsolateCache<{ body: string; lifetime: number }>(1);
const KEY = "inventory";
/** The request that asks the database. */
let asking: object | undefined;

async function respond(c: Context<AppEnv>) {
  // Checked, and not used: a count promises nobody their own writes, and a bookmark could hold it up.
  sentBookmark(c);
  const last = counts.get(KEY, Infinity);
  const more = asking === undefined ? 0 : LONGEST_COUNT_MILLISECONDS;
  if (last !== undefined && Date.now() - last.readAt < last.value.lifetime + more) {
    c.get("log").cached = true;
    return respondWith(c, last.value.body, last.readAt);
  }
  const askedAt = Date.now();
  const request = {};
  asking = request;
  try {
    const session = openSessionAt(c, undefined);
    const [, [row]] = await session.writeRepeatably([renewCount({}), selectCount({})]);
    if (row === undefined) throw new Error("The count was not stored");
    const { age, lifetime, ...inventory } = row;
    const body = JSON.stringify(inventory satisfies Inventory);
    // The age is that of the database, whose clock all isolates share.
    const countedAt = askedAt - age;
    counts.set(KEY, { body, lifetime }, countedAt);
    return respondWith(c, body, countedAt);
  } finally {
    if (asking === request) asking = undefined;
  }
}

function respondWith(c: Context<AppEnv>, body: string, countedAt: number) {
  setAge(c, countedAt);
  return jsonText<Inventory, 200>(c, body, 200);
}

export const getInventory = createHandlers(
  guard("store:read"),
  withFacts(respond, { operationId: "getInventory", headers: ["Age"] }),
);
