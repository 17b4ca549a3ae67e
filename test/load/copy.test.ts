import { setTimeout as wait } from "node:timers/promises";
import { inspect } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { atRandom, type Choice, startChaosProxy } from "./chaos/proxy.ts";
import { Copier, IDLE } from "./copy/copier.ts";
import { FragileService, OLD_ROWS, readFile } from "./fragile-service.ts";
import { CHANGES_PER_KEY, PATIENCE, writeAtRandom } from "./copy/writers.ts";

// Keeps copies with examples/copy.mjs while the store changes, and compares them with the file of the database.
// By hand: CHANGES=100000 npm run test:load test/load/copy.test.ts -- --silent=false

const CHANGES = Number(process.env["CHANGES"] ?? 5_000);
/** Changes between two kills of the service. */
const SERVICE_LIFE = Math.min(CHANGES / 2, 20_000);
/** Milliseconds from the first progress of the copier to its kill, at most. */
const COPIER_LIFE = 500;
const FAULT_SHARE = 0.1;
/** Milliseconds that a timer may be early. */
const EARLY = 2;

/** The rows of a copy, and the same of the database. */
const TABLES = {
  animals: ["id, version, name, category_id, status", "pets"],
  categories: ["id, version, name, description", "categories"],
  orders: ["id, version, pet_id, status, created_at, ship_date, reference", "orders"],
} as const;

/** Waits until the copy has read the feed to its present end. */
async function caughtUp({ url, keys: [key] }: FragileService, copier: Copier): Promise<void> {
  const response = await fetch(new URL("/v1/events?cursor=latest", url), {
    headers: { Authorization: `Bearer ${key}` },
  });
  const { cursor } = (await response.json()) as { cursor: string };
  await expect.poll(() => copier.cursor, { timeout: 120_000 }).toBe(cursor);
}

/** The rows that a copy and the database do not have in common. The service is stopped. */
function findDifferences(service: FragileService, { file }: Copier): unknown[] {
  return Object.entries(TABLES).flatMap(([copy, [columns, table]]) => {
    const stored = service.read(`SELECT ${columns} FROM ${table}`).map((row) => inspect(row));
    const copied = readFile(file, `SELECT ${columns} FROM ${copy}`).map((row) => inspect(row));
    expect(stored.length).toBeGreaterThan(1);
    return [...new Set(stored).symmetricDifference(new Set(copied))];
  });
}

/** The events that do not follow from the events before them, or that the rows contradict. The service is stopped. */
function findContradictions(service: FragileService): string[] {
  const versions = new Map<string, bigint>();
  const contradictions: string[] = [];
  for (const { type, version, id } of service.read(
    "SELECT type, version, data ->> 'id' AS id FROM events WHERE version > 0 ORDER BY events.id",
  ) as { type: string; version: bigint; id: bigint }[]) {
    const resource = `${type.split(".")[0]} ${id}`;
    const before = versions.get(resource) ?? (id === 9007199254740993n ? 1n : 0n);
    if (version !== before + 1n) contradictions.push(`${type} ${id} has version ${version} after ${before}.`);
    versions.set(resource, version);
  }
  return contradictions;
}

// Promise: copies-survive-crashes, the-first-copy
test(`a copy equals the store after ${CHANGES} changes, and kills of the service and of the copier`, async () => {
  await using service = await FragileService.start(
    inject("bundle"),
    Math.ceil(CHANGES / CHANGES_PER_KEY) + 2,
    OLD_ROWS,
  );
  const [key = "", ...keys] = service.keys;
  const proxy = await startChaosProxy(service.url, atRandom(FAULT_SHARE), PATIENCE * 1.5);
  onTestFinished(() => proxy.close());
  await using copier = new Copier(proxy.url, key);
  copier.start();
  await caughtUp(service, copier);
  const begin = performance.now();

  let restart = Promise.resolve();
  let nextKill = SERVICE_LIFE;
  const writers = new AbortController();
  const writing = writeAtRandom(proxy.url, keys, CHANGES, (changes) => {
    if (changes < nextKill || nextKill >= CHANGES) return;
    nextKill += SERVICE_LIFE;
    restart = restart.then(() => service.restart());
  }).finally(() => writers.abort());
  while (!writers.signal.aborted) {
    const before = copier.cursor;
    while (!writers.signal.aborted && copier.cursor === before) await wait(1);
    // Half of the kills come as soon as the cursor moves: a cursor without its changes would be found.
    if (Math.random() < 0.5) await wait(Math.random() * COPIER_LIFE);
    await copier.kill();
    copier.start();
  }
  const written = await writing;
  expect(written.missing).toEqual([]);
  expect(written.replayed).toBeGreaterThan(0);
  await restart;
  const seconds = (performance.now() - begin) / 1_000;

  await caughtUp(service, copier);
  const lag = (performance.now() - begin) / 1_000 - seconds;
  await copier.kill();
  await service.kill();
  const [{ events } = {}] = service.read("SELECT count(*) AS events FROM events");
  const kills = { service: service.kills, copier: copier.kills };
  console.log(written, { events, kills, ends: copier.ends, requests: proxy.requests, seconds, lag }, copier.errors);
  expect(findDifferences(service, copier)).toEqual([]);
  expect(findContradictions(service)).toEqual([]);
});

// Promise: copies-are-replaced-whole, cursors-before-a-restore
test("after a restore, a copy past it starts again, one behind it goes on, and nothing of the lost history is left", async () => {
  await using service = await FragileService.start(inject("bundle"), 6, OLD_ROWS);
  const [key = "", ...keys] = service.keys;
  // A copy takes the present end as its place at first, and when the service no longer has its place.
  const starts: Record<string, number> = { past: 0, live: 0, behind: 0 };
  async function newCopier(name: string): Promise<Copier> {
    const count: Choice = ({ url }) => {
      if (url === "/v1/events?cursor=latest") starts[name] = (starts[name] ?? 0) + 1;
      return undefined;
    };
    const proxy = await startChaosProxy(service.url, count, 0);
    onTestFinished(() => proxy.close());
    const copier = new Copier(proxy.url, key);
    copier.start();
    await caughtUp(service, copier);
    return copier;
  }
  await using past = await newCopier("past");
  await using live = await newCopier("live");
  await using behind = await newCopier("behind");
  await writeAtRandom(service.url, keys, 800);
  await caughtUp(service, behind);
  await behind.kill();
  await writeAtRandom(service.url, keys, 800);
  await service.kill();
  service.save();
  await service.start();

  await writeAtRandom(service.url, keys, 800);
  await caughtUp(service, past);
  await caughtUp(service, live);
  await past.kill();
  await service.kill();
  const newestEvent = () => Number(service.read("SELECT max(id) AS id FROM events")[0]?.["id"]);
  const lost = newestEvent();
  expect(findDifferences(service, live)).toEqual([]);
  service.restore();
  await service.start();
  // The new history has as many events, so that it has the ids of the lost ones.
  await writeAtRandom(service.url, keys, 1_600);
  past.start();
  behind.start();
  for (const copier of [past, live, behind]) await caughtUp(service, copier);
  await service.kill();

  expect(newestEvent()).toBeGreaterThan(lost);
  for (const copier of [past, live, behind]) {
    await copier.kill();
    expect(findDifferences(service, copier)).toEqual([]);
  }
  expect(starts).toEqual({ past: 2, live: 2, behind: 1 });
});

// Promise: quiet-copies
test("a copy of a store that nobody changes sends one request for each period", async () => {
  await using service = await FragileService.start(inject("bundle"), 1, OLD_ROWS);
  const requests: { url: string | undefined; at: number }[] = [];
  const note: Choice = ({ url }) => {
    requests.push({ url, at: performance.now() });
    return undefined;
  };
  const proxy = await startChaosProxy(service.url, note, 0);
  onTestFinished(() => proxy.close());
  await using copier = new Copier(proxy.url, service.keys[0] ?? "");
  copier.start();
  await expect.poll(() => requests.length, { timeout: 60_000 }).toBe(8);
  await copier.kill();
  const cursor = copier.cursor;
  expect(requests.map(({ url }) => url)).toEqual([
    "/v1/events?cursor=latest",
    "/v1/pets?limit=100&include=version",
    "/v1/categories?limit=100&include=version",
    "/v1/store/orders?limit=100&include=version",
    ...Array<string>(4).fill(`/v1/events?cursor=${String(cursor)}`),
  ]);
  const times = requests.slice(4).map(({ at }) => at);
  for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThan(IDLE - EARLY);
});
