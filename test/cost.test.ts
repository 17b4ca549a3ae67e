import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { forgetOld } from "../src/jobs/purge.ts";
import { BATCH_SIZE } from "../src/db/purge.ts";
import { indexNames } from "../src/pets/index-names.ts";
import { COUNT_MILLISECONDS } from "../src/orders/get-inventory.ts";
import { type Cost, END, NOTHING, post, REX, rows } from "../register/cost.ts";
import { BEFORE, BYTES, EVENT_REMOVAL, REMOVAL, type RequestKind, REQUESTS, ROWS } from "./costs.ts";
import { type Call, call } from "./support/client.ts";
import { manyRows } from "./support/many-rows.ts";
import { allowing, observedDatabase, observedJobDatabase } from "./support/observed-d1.ts";
import { grantKey, grantToken } from "./support/keys.ts";
import { OPERATIONS } from "./support/operations.ts";

let warmKey: string;
let readOnlyKey: string;
beforeAll(async () => {
  // A day later, no read of a file before is still remembered.
  // The receiver of webhooks.
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response());
  vi.useFakeTimers({ now: Date.now() + 24 * 60 * 60 * 1_000, toFake: ["Date"] });
  for (const insert of ROWS) await env.DB.prepare(insert).run();
  warmKey = await grantKey();
  readOnlyKey = await grantKey({ scopes: ["pets:read"] });
  for (const key of [warmKey, readOnlyKey, await grantToken(warmKey)]) await call("/v1/pets", { key });
  for (const [path, request] of BEFORE) await call(path, { ...request, key: warmKey });
});

afterAll(() => vi.restoreAllMocks());

/** The path with the present end of the feed, if it names that. */
async function filledIn(path: string): Promise<string> {
  if (!path.includes(END)) return path;
  const response = await call("/v1/events?cursor=latest", { key: warmKey });
  const { cursor } = await response.json<{ cursor: string }>();
  return path.replace(END, cursor);
}

// Each leaves what the next ones find.
test.each(OPERATIONS)("$name has a request that succeeds", ({ method, template }) => {
  const address = new RegExp(`^${method} ${template.replaceAll(/\{\w+\}/g, "[^/?]+")}(?:\\?|$)`);
  const succeeding = Object.values(REQUESTS).filter(([, status]) => status < 300);
  expect(succeeding.map(([, , path, request]) => `${request?.method ?? "GET"} ${path}`)).toContainEqual(
    expect.stringMatching(address),
  );
});

describe("in this order", { shuffle: false }, () => {
  // Promise: a-reference-costs-a-row, pages-read-few-rows
  test.each(Object.keys(REQUESTS) as RequestKind[])("the cost of %s", async (name) => {
    const [expected, status, path, request = {}] = REQUESTS[name];
    if (name === "a search that finds nothing") await indexNames(env.DB, 20);
    // This isolate forgets its count. The clock of the database does not go on.
    if (name === "an inventory that another isolate counted") vi.setSystemTime(Date.now() + COUNT_MILLISECONDS);
    const key = request.customer === undefined ? warmKey : await grantToken(warmKey, { customer: request.customer });
    const { status: actual, ...cost } = await ask(await filledIn(path), { key, ...request });
    expect(actual).toBe(status);
    expect(cost, `The register has another cost for ${name}: ${shown(cost)}`).toEqual(expected);
  });

  test("a key without the scope costs nothing", async () => {
    expect(await ask("/v1/pets", { ...post(REX), key: readOnlyKey })).toEqual({ status: 403, ...NOTHING });
  });

  test("the first request of a key in an isolate costs one more KV read", async () => {
    expect(await ask("/v1/pets", { key: await grantKey() })).toEqual({ status: 200, ...rows(21), kvReads: 1 });
  });

  test("a change of the reference or the customer of an order writes no index of the other one", async () => {
    const key = await grantKey();
    const pet = await (await call("/v1/pets", { key, ...post(REX) })).json<{ id: string }>();
    const order = { petId: pet.id, reference: "one", customer: "bo" };
    const { id } = await (await call("/v1/store/orders", { key, ...post(order) })).json<{ id: string }>();
    for (const body of [{ reference: "two" }, { customer: "al" }])
      expect(await ask(`/v1/store/orders/${id}`, { key, method: "PATCH", body })).toMatchObject({ rowsWritten: 3 });
  });

  const finished = (count: number) => ({ count, finished: true });
  const addOldKeys = (count: number) =>
    manyRows(
      count,
      `INSERT INTO idempotency_keys (id, api_key_id, idempotency_key, fingerprint, resource_id, created_at)
       SELECT -i, 'old', i, '', 1, unixepoch() - 90000 FROM n`,
    ).run();

  test("the cost of removing an expired idempotency key", async () => {
    await addOldKeys(500);
    const { DB, statements } = observedJobDatabase();
    expect(await forgetOld(DB, "7")).toEqual({ keys: finished(500), events: finished(0) });
    expect(statements).toHaveLength(2);
    expect(statements[0]?.meta.rows_written).toBe(REMOVAL.rowsWritten * 500);
    expect(Math.floor((statements[0]?.meta.rows_read ?? 0) / 500)).toBe(REMOVAL.rowsRead);
  });

  test("the cost of removing an old event", async () => {
    // The other events of this file are young.
    await manyRows(
      BATCH_SIZE + 1,
      `INSERT INTO events (id, tag, type, version, data, created_at)
       SELECT -i, i, 'pet.created', 1, '{}', '2020-01-01T00:00:00.000Z' FROM n`,
    ).run();
    const { DB, statements } = observedJobDatabase();
    expect(await forgetOld(DB, "7")).toEqual({ keys: finished(0), events: finished(BATCH_SIZE) });
    expect(statements[1]?.meta.rows_written).toBe(EVENT_REMOVAL.rowsWritten * BATCH_SIZE);
    expect(Math.round((statements[1]?.meta.rows_read ?? 0) / BATCH_SIZE)).toBe(EVENT_REMOVAL.rowsRead);
  });

  test("a plan that allows fewer statements still removes keys with each run, and the job does not fail", async () => {
    await addOldKeys(2.5 * BATCH_SIZE);
    const unfinished = { count: 2 * BATCH_SIZE, finished: false };
    expect(await forgetOld(allowing(3), "7")).toEqual({ keys: unfinished, events: finished(0) });
    expect(await forgetOld(allowing(3), "7")).toEqual({ keys: finished(BATCH_SIZE / 2), events: finished(0) });
    await expect(forgetOld(allowing(0), "7")).rejects.toThrow("Too many API requests");
  });

  test("the bytes of an animal, an idempotency key and an event in the database", async () => {
    const key = await grantKey({ id: "key_0123456789ab" });
    const idempotencyKey = crypto.randomUUID();
    await call("/v1/pets", {
      key,
      ...post({ name: "Animal 12345", categoryId: 1 }, { "Idempotency-Key": idempotencyKey }),
    });
    const size = async () => (await env.DB.prepare("SELECT 1").run()).meta.size_after;
    /** Bytes per row, measured with many copies of a row. */
    const bytesOf = async (insert: string) => {
      const before = await size();
      await manyRows(20_000, insert).run();
      return ((await size()) - before) / 20_000;
    };
    const bytes = {
      animal: await bytesOf(
        "INSERT INTO pets (name, category_id, status) SELECT name, i % 100, status FROM pets, n WHERE name = 'Animal 12345'",
      ),
      // The keys of clients are random, which leaves room in the pages of their index.
      idempotencyKey: await bytesOf(
        `INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, response, resource_id, created_at)
       SELECT api_key_id, hex(randomblob(18)), fingerprint, response, resource_id, created_at
       FROM idempotency_keys, n WHERE idempotency_key = '${idempotencyKey}'`,
      ),
      event: await bytesOf(
        `INSERT INTO events (tag, type, version, data, created_at)
       SELECT random() & 4294967295, type, version, data, created_at
       FROM events, n WHERE events.id = (SELECT max(id) FROM events)`,
      ),
    };
    for (const row of ["animal", "idempotencyKey", "event"] as const) {
      expect(bytes[row] / BYTES[row], row).toBeGreaterThan(0.9);
      expect(bytes[row] / BYTES[row], row).toBeLessThanOrEqual(1);
    }
  });
});

/** A cost as the register writes it. */
function shown(cost: Cost): string {
  const { d1RoundTrips, rowsRead, rowsWritten, kvReads } = cost;
  const short = { 0: "NOTHING", 1: `rows(${rowsRead}${rowsWritten === 0 ? "" : `, ${rowsWritten}`})` }[d1RoundTrips];
  return kvReads > 0 || short === undefined ? JSON.stringify(cost) : short;
}

/** Sends a request and counts its round trips at the bindings. The rows are those of D1, from the log line. */
async function ask(path: string, request: Call) {
  const get = vi.spyOn(env.API_KEYS, "get");
  const log = vi.spyOn(console, "log");
  try {
    const { DB, roundTrips } = observedDatabase();
    const { status } = await call(path, { ...request, bindings: { DB } });
    const line: { d1RowsRead?: number; d1RowsWritten?: number } = JSON.parse(String(log.mock.lastCall?.[0]));
    return {
      status,
      kvReads: get.mock.calls.length,
      d1RoundTrips: roundTrips(),
      rowsRead: line.d1RowsRead ?? 0,
      rowsWritten: line.d1RowsWritten ?? 0,
    };
  } finally {
    get.mockRestore();
    log.mockRestore();
  }
}
