import { eq } from "drizzle-orm";
import { unionAll } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import { runAlone } from "../db/run-alone.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { HUB, liveHubs } from "../live/table.ts";
import { webhooks } from "./table.ts";
import { objectName } from "./webhook.ts";

/** Milliseconds for which an isolate remembers the enabled webhooks. */
export const REMEMBERED = 10_000;
/** Milliseconds between two nudges of a webhook by an isolate, at least. */
const BETWEEN_NUDGES = 1_000;
/** The same of a hub, which looks again a little later. */
const BETWEEN_NUDGES_OF_HUBS = 100;
/** Milliseconds for which a response waits for an object, at most. */
const LONGEST_WAIT = 5_000;

/** The names of the objects of the enabled webhooks and of the hubs with listeners, and when each was last nudged. */
let enabled: { nudgedAt: Map<string, number>; readAt: number } | undefined;

/** After a change, tells the enabled webhooks and the hubs that the feed has more. No request waits for it, and no response depends on it. */
export function nudgeAfter(c: Context<AppEnv>, now: number): void {
  const age = enabled === undefined ? Infinity : now - enabled.readAt;
  const isFresh = age >= 0 && age < REMEMBERED;
  // Without a promise for each change.
  if (isFresh && enabled?.nudgedAt.entries().some((entry) => isDue(entry, now)) === false) return;
  c.executionCtx.waitUntil(nudge(c.env, isFresh).catch(() => {}));
}

async function nudge({ DB, WEBHOOKS }: Env, isFresh: boolean): Promise<void> {
  const known = isFresh && enabled !== undefined ? enabled : await readEnabled(DB);
  const now = Date.now();
  const names = [...known.nudgedAt].filter((entry) => isDue(entry, now)).map(([name]) => name);
  for (const name of names) known.nudgedAt.set(name, now);
  await nudgeEach(WEBHOOKS, names);
}

const isHub = (name: string) => name.startsWith(HUB);

async function nudgeEach(objects: Env["WEBHOOKS"], names: readonly string[]): Promise<void> {
  await Promise.allSettled(
    names.map((name) => (isHub(name) ? objects.getByName(name).look(name) : objects.getByName(name).nudge(name))),
  );
}

/** A time in the future is due too: the clock may have been set back. */
const isDue = ([name, nudgedAt]: readonly [string, number], now: number) =>
  now - nudgedAt >= (isHub(name) ? BETWEEN_NUDGES_OF_HUBS : BETWEEN_NUDGES) || now < nudgedAt;

const selectEnabled = compile("webhooks.enabled", (db) =>
  unionAll(
    db
      .select({ name: objectName.as("name") })
      .from(webhooks)
      .where(eq(webhooks.enabled, 1)),
    db.select({ name: liveHubs.name }).from(liveHubs),
  ),
);

async function readEnabled(DB: D1Database) {
  // Before it is known: other requests must not read it too.
  const before = enabled?.nudgedAt ?? new Map<string, number>();
  const reading = (enabled = { nudgedAt: before, readAt: Date.now() });
  const { results } = await runAlone(DB, selectEnabled({})).catch((error: unknown) => {
    // Without any name, the next change reads again.
    if (before.size === 0) reading.readAt = 0;
    throw error;
  });
  reading.nudgedAt = new Map(results.map(({ name }) => [name, before.get(name) ?? 0]));
  return reading;
}

/** Nudges every enabled webhook and every hub, for the hourly job. It repairs alarms that the platform gave up. */
export async function nudgeAll({ DB, WEBHOOKS }: Pick<Env, "DB" | "WEBHOOKS">): Promise<void> {
  const { nudgedAt } = await readEnabled(DB);
  await nudgeEach(WEBHOOKS, [...nudgedAt.keys()]);
}

/** Forgets the list: the next nudge, also that of this request, reads it again. */
export function forgetEnabled(): void {
  enabled = undefined;
}

/**
 * Tells a webhook that its configuration has changed, before the response. A failure changes no response: the alarm of the object reads
 * the configuration anew within a minute.
 */
export async function announce(c: Context<AppEnv>, name: string): Promise<void> {
  forgetEnabled();
  const tell = async () => c.env.WEBHOOKS.getByName(name).changed(name);
  const told = tell().catch(() => {});
  c.executionCtx.waitUntil(told);
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LONGEST_WAIT);
  await Promise.race([told, waited]);
  clearTimeout(timer);
}
