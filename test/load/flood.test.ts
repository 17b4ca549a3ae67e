import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { RECORD, startBundles } from "../../scripts/bundles.ts";
import { applyMigrations } from "../../scripts/migrations.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";

/** Of one key, which store 94 MiB without a budget. The limiter of these bundles admits all of them. */
const BATCHES = 300;
const ANIMALS = 100;
const AT_ONCE = 8;
const MIB = 2 ** 20;
/** Two of its characters are 12 bytes of JSON. */
const NAME = "\u0001".repeat(255);

const percentile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;

// Promise: stored-bytes-are-limited
test("a flood of small patches of long names stops at the budget of its key, and no other key notices", async () => {
  const flooder = generateKey("production");
  const contents = readFileSync(join(inject("bundle"), "index.js"), "utf8");
  await using bundles = await startBundles({ petstore: [{ type: "ESModule", path: "index.js", contents }] }, flooder);
  const { database, keys, port } = bundles;
  await applyMigrations(database, "drizzle");
  const neighbour = generateKey("production");
  await keys.put(await keyRecordName(neighbour), RECORD.replace("key_000000000000", "key_111111111111"));
  await database
    .prepare(
      `INSERT INTO pets (name, category_id, status)
       SELECT ?1, 1, 'available' FROM json_each(?2)`,
    )
    .bind(NAME, JSON.stringify(Array(ANIMALS).fill(0)))
    .run();
  const storedBytes = async () =>
    (await database
      .prepare(
        `SELECT (SELECT sum(octet_length(data)) FROM events) +
           (SELECT coalesce(sum(octet_length(response)), 0) FROM idempotency_keys) AS bytes`,
      )
      .first<number>("bytes")) ?? 0;

  const send = async (key: string, method: string, path: string, body?: string) => {
    const start = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${key}`,
        ...(body !== undefined && { "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() }),
      },
      ...(body !== undefined && { body }),
    });
    await response.arrayBuffer();
    return { status: response.status, time: performance.now() - start };
  };
  /** A list and a creation of the other key, in turns, until it is told to stop. */
  const neighbourUntil = async (isOver: () => boolean) => {
    const responses = [];
    while (!isOver()) {
      responses.push(await send(neighbour, "GET", "/pets?limit=20&id=1"));
      responses.push(await send(neighbour, "POST", "/pets", '{"name":"Rex","categoryId":1}'));
    }
    return responses;
  };
  const timesOf = (responses: { time: number }[]) => {
    const times = responses.map(({ time }) => time);
    return [0.5, 0.99].map((share) => `${percentile(times, share).toFixed(1)} ms`).join(", ");
  };

  let rounds = 0;
  const calm = await neighbourUntil(() => ++rounds > 150);
  const before = await storedBytes();
  let sent = 0;
  let bytes = 0;
  const flood: { status: number; time: number }[] = [];
  const senders = Array.from({ length: AT_ONCE }, async () => {
    while (sent < BATCHES) {
      const status = sent++ % 2 ? "sold" : "pending";
      const body = JSON.stringify(Array.from({ length: ANIMALS }, (_, i) => ({ id: i + 1, status })));
      bytes = body.length;
      flood.push(await send(flooder, "PATCH", "/pets/batch", body));
    }
  });
  let isOver = false;
  const beside = neighbourUntil(() => isOver);
  await Promise.all(senders);
  isOver = true;
  const disturbed = await beside;
  const created = disturbed.length / 2;

  const stored = (await storedBytes()) - before;
  const [accepted, refused] = [200, 429].map((one) => flood.filter(({ status }) => status === one));
  console.log(
    `${BATCHES} batches of ${bytes} bytes: ${accepted?.length} accepted (${timesOf(accepted ?? [])}), ${refused?.length} refused (${timesOf(refused ?? [])}), ${(stored / MIB).toFixed(1)} MiB stored`,
  );
  console.log(
    `the other key, median and 99th percentile: alone ${timesOf(calm)}, beside the flood ${timesOf(disturbed)}`,
  );
  expect([...calm, ...disturbed].filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
  expect(created).toBeGreaterThan(10);
  expect((accepted?.length ?? 0) + (refused?.length ?? 0)).toBe(BATCHES);
  // Those that run at once may exceed it.
  expect(stored).toBeGreaterThan(60 * MIB);
  expect(stored).toBeLessThan(64 * MIB + (AT_ONCE + 4) * 0.33 * MIB);
  // Reads go on.
  expect((await send(flooder, "GET", "/pets")).status).toBe(200);
});
