// Histories by chance: receivers that fail, crashes, lost nudges, replays and restores. Whatever happens, each event is delivered at
// least once or has failed, or lies before a feed.reset, and the versions of a resource come in their order.
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { MAX_ATTEMPTS } from "../../src/webhooks/engine/schedule.ts";
import {
  addEvents,
  addHook,
  atOnce,
  type Hook,
  HOUR,
  MINUTE,
  type Received,
  received,
  respond,
  SECOND,
  useReceiver,
} from "./endpoint.ts";

useReceiver();

const SEEDS = Array.from({ length: 24 }, (_, index) => index + 1);
const STEPS = 40;
const RESOURCES = 6;

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An attempt, with what became of it. */
interface Attempt extends Received {
  status: number | undefined;
}

class History {
  readonly random: () => number;
  readonly hook: Hook;
  /** The events that the feed has, in its order. */
  feed: { id: string; resource: number; version: number }[] = [];
  readonly versions = new Map<number, number>();
  readonly attempts: Attempt[] = [];
  /** The share of the attempts that fail. */
  failing = 0;
  /** A resource whose events fail. */
  poisoned = 0;
  /** The next attempt never ends: the object crashes. */
  crashes = false;
  isHanging = false;
  /** Reasons for a duplicate. */
  hadCrash = false;
  hadReplay = false;
  hadRestore = false;

  constructor(random: () => number, hook: Hook) {
    this.random = random;
    this.hook = hook;
    respond(async (one) => {
      const attempt: Attempt = { ...one, status: undefined };
      this.attempts.push(attempt);
      if (this.crashes) {
        this.crashes = false;
        this.isHanging = true;
        await new Promise(() => {});
      }
      // Others end first.
      for (let turns = Math.floor(this.random() * 4); turns > 0; turns--) await Promise.resolve();
      attempt.status = this.random() < this.failing || one.resource === this.poisoned ? 500 : 204;
      return attempt.status;
    });
  }

  between = (least: number, most: number) => least + Math.floor(this.random() * (most - least + 1));

  async add(count: number): Promise<void> {
    const events = Array.from({ length: count }, () => {
      const resource = this.between(1, RESOURCES);
      const version = (this.versions.get(resource) ?? 0) + 1;
      this.versions.set(resource, version);
      return { resource, version };
    });
    const ids = await addEvents(...events.map(({ resource, version }): [number, number] => [resource, version]));
    this.feed.push(...events.map((event, index) => ({ ...event, id: ids[index] ?? "" })));
  }

  async crash(): Promise<void> {
    this.crashes = true;
    const run = this.hook.run().catch(() => {});
    await Promise.race([run, vi.waitFor(() => expect(this.isHanging).toBe(true)).catch(() => {})]);
    if (this.isHanging) {
      this.hadCrash = true;
      await abortAllDurableObjects();
      await run;
    }
    this.crashes = this.isHanging = false;
  }

  /** The database is as it was before the newest events, and goes on from there. */
  async restore(): Promise<void> {
    const lost = Math.min(this.between(1, 5), this.feed.length);
    if (lost === 0) return;
    this.hadRestore = true;
    await env.DB.prepare("DELETE FROM events WHERE id > (SELECT max(id) - ? FROM events)").bind(lost).run();
    for (const { resource, version } of this.feed.splice(this.feed.length - lost))
      this.versions.set(resource, Math.min(this.versions.get(resource) ?? 0, version - 1));
  }

  async replay(): Promise<void> {
    // Not forward, which would leave events out.
    const place = (await this.hook.state()).cursor.slice(0, 24);
    const read = this.feed.filter(({ id }) => id.slice(4) <= place);
    const from = read[this.between(0, read.length - 1)];
    if (from === undefined) return;
    this.hadReplay = true;
    await this.hook.stub.replay(this.hook.name, from.id.slice(4), false);
  }

  async step(restores: boolean): Promise<void> {
    const kind = this.random();
    if (kind < 0.35) {
      await this.add(this.between(1, 30));
      if (this.random() < 0.7) await this.hook.run();
    } else if (kind < 0.6) await this.hook.pass(this.between(1, 10 * 60) * SECOND);
    else if (kind < 0.7) this.failing = this.random() < 0.5 ? 0 : this.random();
    else if (kind < 0.75) this.failing = 1;
    else if (kind < 0.8) this.poisoned = this.between(0, RESOURCES);
    else if (kind < 0.87) await this.crash();
    else if (kind < 0.9) {
      await this.hook.set("enabled = 0");
      await this.hook.run();
      await this.add(this.between(0, 5));
      await this.hook.set("enabled = 1");
    } else if (kind < 0.93) await this.replay();
    else if (kind < 0.96 && restores) await this.restore();
    else await this.hook.run();
  }
}

/** Whether a version of a resource was delivered, or had failed for good, before this attempt. */
function checkOrder(attempts: Attempt[], at: number, failed: Set<string>): void {
  const attempt = attempts[at];
  if (attempt?.status !== 204 || attempt.type === "feed.reset") return;
  const before = attempts.slice(0, at).filter(({ resource }) => resource === attempt.resource);
  for (let version = 1; version < attempt.version; version++) {
    const those = before.filter((one) => one.version === version);
    if (those.some(({ status }) => status === 204) || those.some(({ id }) => failed.has(id))) continue;
    // It may be late only when something of its resource failed an hour before.
    const early = before.some(({ status, at: time }) => status !== 204 && time <= attempt.at - HOUR);
    expect(early, `${attempt.resource}:${attempt.version} before ${version}`).toBe(true);
  }
}

test.each(SEEDS)("history %i loses no event, and keeps the order", async (seed) => {
  const restores = seed % 3 === 0;
  const history = new History(randomOf(seed), await addHook());
  const { hook } = history;
  await hook.run();
  for (let step = 0; step < STEPS; step++) await history.step(restores);
  history.failing = history.poisoned = 0;
  // A calm time. The new address makes everything due.
  await hook.set("url = url || '?calm'");
  await hook.pass(30 * MINUTE);
  expect(await hook.state()).toMatchObject({ pending: 0, health: "ok" });
  // A request of an object that crashed never ends here.
  if (!history.hadCrash) expect(atOnce).toBeLessThanOrEqual(4);

  const delivered = new Set(history.attempts.filter(({ status }) => status === 204).map(({ id }) => id));
  const failed = new Set(
    (await hook.deliveries()).filter(({ status }) => status === "failed").map(({ event }) => event),
  );
  // What comes after the last reset is delivered. Before it, the receiver lists.
  const reset = history.attempts.findLast(({ type, status }) => type === "feed.reset" && status === 204);
  const cursor = reset && (JSON.parse(reset.body) as { data: { cursor: string } }).data.cursor.slice(0, 24);
  expect(reset !== undefined).toBe((await hook.state()).resets > 0);
  const due = history.feed.filter(({ id }) => cursor === undefined || id.slice(4) > cursor);
  expect(due.filter(({ id }) => !delivered.has(id) && !failed.has(id))).toEqual([]);

  if (!history.hadRestore && !history.hadReplay) {
    for (let at = 0; at < history.attempts.length; at++) checkOrder(history.attempts, at, failed);
    if (!history.hadCrash) {
      const successes = history.attempts.filter(({ status }) => status === 204).map(({ id }) => id);
      expect(new Set(successes).size).toBe(successes.length);
    }
  }
  const attempts = (await hook.deliveries()).map((delivery) => delivery.attempts);
  expect(Math.max(0, ...attempts)).toBeLessThanOrEqual(MAX_ATTEMPTS);
  expect(received.length).toBe(history.attempts.length);
});
