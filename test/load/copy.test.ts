import { setTimeout as wait } from "node:timers/promises";
import { inspect } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { atRandom, startChaosProxy } from "./chaos/proxy.ts";
import { Copier } from "./copy/copier.ts";
import { FragileService, OLD_ROWS, readFile } from "./fragile-service.ts";
import { runPrograms } from "./stress/programs.ts";

// Keeps a copy with examples/copy.mjs while the store changes, and compares it with the file of the database.
// By hand: KILLS=20 npm run test:load test/load/copy.test.ts -- --silent=false

/** Of the service. */
const KILLS = Number(process.env["KILLS"] ?? 2);
/** Milliseconds before each kill of the service, and after the last one. */
const SERVICE_LIFE = 10_000;
/** Milliseconds from the first progress of the copier to its kill, at most. */
const COPIER_LIFE = 500;
const FAULT_SHARE = 0.1;
/** Milliseconds after which a response counts as lost. */
const PATIENCE = 2_000;
/** Of the writers, so that none meets its limit of a thousand requests a minute. */
const KEYS = 16;

/** The rows of a copy, and the same of the database. */
const TABLES = {
  animals: ["id, version, name, category_id, status", "pets"],
  categories: ["id, version, name, description", "categories"],
  orders: ["id, version, pet_id, status, created_at, ship_date, reference", "orders"],
} as const;
const CHANGES = ["pet.created", "pet.updated", "pet.deleted", "category.created", "order.placed"];

/** Waits until the copy has read the feed to its present end. */
async function caughtUp({ url, keys: [key] }: FragileService, copier: Copier): Promise<void> {
  const response = await fetch(new URL("/v1/events?cursor=latest", url), {
    headers: { Authorization: `Bearer ${key}` },
  });
  const { cursor } = (await response.json()) as { cursor: string };
  await expect.poll(() => copier.cursor, { timeout: 120_000 }).toBe(cursor);
}

// Promise: copies-survive-crashes, the-first-copy
test("a copy equals the store after changes, and kills of the service and of the copier", async () => {
  await using service = await FragileService.start(inject("bundle"), KEYS + 1, OLD_ROWS);
  const [key = "", ...keys] = service.keys;
  const proxy = await startChaosProxy(service.url, atRandom(FAULT_SHARE), PATIENCE * 1.5);
  onTestFinished(() => proxy.close());
  await using copier = new Copier(proxy.url, key);
  copier.start();
  await caughtUp(service, copier);

  const end = new AbortController();
  const killing = (async () => {
    for (let kills = 0; kills < KILLS; kills++) {
      await wait(SERVICE_LIFE);
      await service.restart();
    }
    await wait(SERVICE_LIFE);
  })().finally(() => end.abort());
  const options = { seed: Date.now(), isProxied: true, timeout: PATIENCE };
  const writing = runPrograms(proxy.url, keys, options, () => end.signal.aborted);
  while (!end.signal.aborted) {
    const before = copier.cursor;
    while (!end.signal.aborted && copier.cursor === before) await wait(1);
    // Half of the kills come as soon as the cursor moves: a cursor without its changes would be found.
    if (Math.random() < 0.5) await wait(Math.random() * COPIER_LIFE);
    await copier.kill();
    copier.start();
  }
  const sent = await writing;
  await killing;

  await caughtUp(service, copier);
  await copier.kill();
  await service.kill();
  const types = service.read("SELECT type, count(*) AS count FROM events GROUP BY type");
  const kills = { service: service.kills, copier: copier.kills };
  console.log({ kills, ends: copier.ends, sent: sent.length, requests: proxy.requests }, types, copier.errors);
  expect(types.map(({ type }) => type)).toEqual(expect.arrayContaining(CHANGES));
  for (const [copy, [columns, table]] of Object.entries(TABLES)) {
    const stored = service.read(`SELECT ${columns} FROM ${table}`).map((row) => inspect(row));
    const copied = readFile(copier.file, `SELECT ${columns} FROM ${copy}`).map((row) => inspect(row));
    expect(stored.length).toBeGreaterThan(1);
    expect([...new Set(stored).symmetricDifference(new Set(copied))], table).toEqual([]);
  }
});
