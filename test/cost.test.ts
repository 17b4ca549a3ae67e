import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { generateKey } from "../src/auth/key-format.ts";
import { forgetOld } from "../src/changes/purge.ts";
import { BATCH_SIZE } from "../src/db/purge.ts";
import { BYTES, type Cost, COSTS, EVENT_REMOVAL, NOTHING, REMOVAL, type RequestKind, rows } from "./costs.ts";
import { type Call, call } from "./support/client.ts";
import { faultyDatabase } from "./support/faulty-d1.ts";
import { observedJobDatabase } from "./support/observed-d1.ts";
import { grantKey } from "./support/keys.ts";
import { OPERATIONS } from "./support/operations.ts";

const REX = { name: "Rex", categoryId: 1 };
const HUNDRED = Array.from({ length: 100 }, () => REX);
const patch = (body: object, headers = {}): Call => ({ method: "PATCH", body, headers });
const CHANGE = patch({ status: "sold" }, { "Idempotency-Key": "change" });
const create = (body: object, headers = {}): Call => ({ method: "POST", body, headers });

let warmKey: string;
let readOnlyKey: string;
beforeAll(async () => {
  // A day later, no read of a file before is still remembered.
  vi.useFakeTimers({ now: Date.now() + 24 * 60 * 60 * 1_000, toFake: ["Date"] });
  await env.DB.prepare(
    // The category of animal 1 is there.
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
     INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, iif(i = 1, 1, 1000 + i), 'available' FROM n`,
  ).run();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
     INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, -1, CASE WHEN i % 2 THEN 'sold' ELSE 'pending' END FROM n`,
  ).run();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
     INSERT INTO categories (name) SELECT 'Category ' || i FROM n`,
  ).run();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
     INSERT INTO events (tag, type, version, data, created_at) SELECT i, 'pet.created', 1, '{"id":1}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM n`,
  ).run();
  warmKey = await grantKey();
  readOnlyKey = await grantKey({ scopes: ["pets:read"] });
  for (const key of [warmKey, readOnlyKey]) await call("/v1/pets", { key });
  await call("/v1/pets", { ...create(REX, { "Idempotency-Key": "known" }), key: warmKey });
  const place = (petId: number, headers = {}) =>
    call("/v1/store/orders", { ...create({ petId }, headers), key: warmKey });
  await place(23, { "Idempotency-Key": "order" });
  for (const petId of [24, 25]) await place(petId);
});

/** Stands for the cursor at the present end of the feed. */
const END = "END";

const REQUESTS: { [kind in RequestKind]: [status: number, path: string, request?: Call] } = {
  "a list of 20": [200, "/v1/pets"],
  "a list of 100": [200, "/v1/pets?limit=100"],
  "a list by status": [200, "/v1/pets?status=available"],
  "a creation": [201, "/v1/pets", create(REX)],
  "a creation with an Idempotency-Key": [201, "/v1/pets", create(REX, { "Idempotency-Key": "new" })],
  "a retry of a creation": [201, "/v1/pets", create(REX, { "Idempotency-Key": "known" })],
  "another creation with a known Idempotency-Key": [
    422,
    "/v1/pets",
    create({ ...REX, name: "Max" }, { "Idempotency-Key": "known" }),
  ],
  "a list by a small category": [200, "/v1/pets?categoryId=1005"],
  "a list by category": [200, "/v1/pets?categoryId=-1"],
  "a list by category and status": [200, "/v1/pets?categoryId=-1&status=sold"],
  "a list of 100 ids": [200, `/v1/pets?limit=100${Array.from({ length: 100 }, (_, i) => `&id=${i + 1}`).join("")}`],
  "a list by all filters": [200, "/v1/pets?id=1&id=2&id=3&categoryId=1002&status=available"],
  "an animal": [200, "/v1/pets/1"],
  "an animal that has not changed": [304, "/v1/pets/1", { headers: { "If-None-Match": '"1"' } }],
  "a list with versions, newest first": [200, "/v1/pets?include=version&sort=-id"],
  "a read with max-age": [200, "/v1/pets/1", { headers: { "Cache-Control": "max-age=60" } }],
  "a read from memory": [200, "/v1/pets/1", { headers: { "Cache-Control": "max-age=60" } }],
  "the presented key": [200, "/v1/key"],
  "a batch of 100": [201, "/v1/pets/batch", create(HUNDRED)],
  "a batch of 100 with an Idempotency-Key": [201, "/v1/pets/batch", create(HUNDRED, { "Idempotency-Key": "batch" })],
  "a retry of a batch": [201, "/v1/pets/batch", create(HUNDRED, { "Idempotency-Key": "batch" })],
  "a change of a name": [200, "/v1/pets/7", patch({ name: "Max" })],
  "a change of a status": [200, "/v1/pets/8", patch({ status: "sold" })],
  "a change of a status with an Idempotency-Key": [200, "/v1/pets/11", CHANGE],
  "a retry of a change": [200, "/v1/pets/11", CHANGE],
  "a change to the current values with an Idempotency-Key": [
    200,
    "/v1/pets/12",
    patch({ status: "available" }, { "Idempotency-Key": "nothing" }),
  ],
  "a change of everything": [200, "/v1/pets/9", patch({ ...REX, status: "sold" }, { "If-Match": '"1"' })],
  "a change of nothing": [200, "/v1/pets/10", patch({})],
  "a change to the current values": [200, "/v1/pets/10", patch({ status: "available" })],
  "a change with another version": [412, "/v1/pets/10", patch({ name: "Max" }, { "If-Match": '"2"' })],
  "a change of an unknown animal": [404, "/v1/pets/999999", patch({ name: "Max" })],
  "a deletion": [204, "/v1/pets/11", { method: "DELETE" }],
  "a deletion of an unknown animal": [404, "/v1/pets/11", { method: "DELETE" }],
  "a list of categories": [200, "/v1/categories"],
  "a creation of a category": [201, "/v1/categories", create({ name: "New" })],
  "a creation of a category with an Idempotency-Key": [
    201,
    "/v1/categories",
    create({ name: "Newer" }, { "Idempotency-Key": "category" }),
  ],
  "a category with a name that another has": [409, "/v1/categories", create({ name: "New" })],
  "a new name of a category": [200, "/v1/categories/1", patch({ name: "Newest" })],
  "a new description of a category": [200, "/v1/categories/1", patch({ description: "New" })],
  "a name that another category has": [409, "/v1/categories/1", patch({ name: "New" })],
  "a deletion of a category": [204, "/v1/categories/30", { method: "DELETE" }],
  "a deletion of a category that an animal names": [409, "/v1/categories/1", { method: "DELETE" }],
  "an unknown animal": [404, "/v1/pets/999999"],
  "an id that is not an int64": [404, "/v1/pets/rex"],
  "a query that breaks a rule": [400, "/v1/pets?limit=0"],
  "a forged cursor": [400, "/v1/pets?cursor=AAAAAAAAAAAAAAAA"],
  "a bad bookmark": [400, "/v1/pets", { headers: { "x-d1-bookmark": "latest" } }],
  "a body that breaks a rule": [400, "/v1/pets", create({ name: "" })],
  "a body of another media type": [415, "/v1/pets", create(REX, { "Content-Type": "text/plain" })],
  "a placement": [201, "/v1/store/orders", create({ petId: 21 })],
  "a placement with an Idempotency-Key": [
    201,
    "/v1/store/orders",
    create({ petId: 22 }, { "Idempotency-Key": "placement" }),
  ],
  "a retry of a placement": [201, "/v1/store/orders", create({ petId: 23 }, { "Idempotency-Key": "order" })],
  "a placement for an animal on order": [409, "/v1/store/orders", create({ petId: 23 })],
  "a list of orders": [200, "/v1/store/orders"],
  "a list of the orders of an animal": [200, "/v1/store/orders?petId=23"],
  "an order": [200, "/v1/store/orders/1"],
  "a shipment": [200, "/v1/store/orders/2", patch({ status: "shipped" })],
  "a shipment repeated": [200, "/v1/store/orders/2", patch({ status: "shipped" })],
  "a cancellation": [204, "/v1/store/orders/3", { method: "DELETE" }],
  "a cancellation repeated": [204, "/v1/store/orders/3", { method: "DELETE" }],
  "a patched status of an animal on order": [409, "/v1/pets/23", patch({ status: "sold" })],
  "a deletion of an animal on order": [409, "/v1/pets/23", { method: "DELETE" }],
  "a category": [200, "/v1/categories/1"],
  "an inventory of 602 animals": [200, "/v1/store/inventory"],
  "an inventory from memory": [200, "/v1/store/inventory"],
  "the newest place of the feed": [200, "/v1/events?cursor=latest"],
  "a page of 100 events": [200, "/v1/events"],
  "a page of events of one type": [200, "/v1/events?type=category.deleted"],
  "a page of no new events": [200, `/v1/events?cursor=${END}`],
  "an unknown path": [404, "/v1/stores"],
  "an unsupported method": [405, "/v1/pets", { method: "DELETE" }],
  "a key of the wrong form": [401, "/v1/pets", { key: "rex" }],
  "a key of another environment": [401, "/v1/pets", { key: generateKey("production") }],
  "an unknown key": [401, "/v1/pets", { key: generateKey("local") }],
  "the health check": [200, "/health"],
};

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
  const succeeding = Object.values(REQUESTS).filter(([status]) => status < 300);
  expect(succeeding.map(([, path, request]) => `${request?.method ?? "GET"} ${path}`)).toContainEqual(
    expect.stringMatching(address),
  );
});

describe("in this order", { shuffle: false }, () => {
  test.each(Object.keys(COSTS) as RequestKind[])("the cost of %s", async (name) => {
    const [status, path, request = {}] = REQUESTS[name];
    const { status: actual, ...cost } = await ask(await filledIn(path), { key: warmKey, ...request });
    expect(actual).toBe(status);
    expect(cost, `This row belongs in test/costs.ts:\n  ${rowOf(name, cost)}\n`).toEqual(COSTS[name]);
  });

  test("a key without the scope costs nothing", async () => {
    expect(await ask("/v1/pets", { ...create(REX), key: readOnlyKey })).toEqual({ status: 403, ...NOTHING });
  });

  test("the first request of a key in an isolate costs one more KV read", async () => {
    expect(await ask("/v1/pets", { key: await grantKey() })).toEqual({ status: 200, ...rows(21), kvReads: 1 });
  });

  const finished = (count: number) => ({ count, finished: true });

  test("the cost of removing an expired idempotency key", async () => {
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
     INSERT INTO idempotency_keys (id, api_key_id, idempotency_key, fingerprint, resource_id, created_at)
     SELECT -i, 'old', i, '', 1, unixepoch() - 90000 FROM n`,
    ).run();
    const { DB, statements } = observedJobDatabase();
    expect(await forgetOld(DB, "7")).toEqual({ keys: finished(500), events: finished(0) });
    expect(statements).toHaveLength(2);
    expect(statements[0]?.meta.rows_written).toBe(REMOVAL.rowsWritten * 500);
    expect(Math.floor((statements[0]?.meta.rows_read ?? 0) / 500)).toBe(REMOVAL.rowsRead);
  });

  test("the cost of removing an old event", async () => {
    // The other events of this file are young.
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${BATCH_SIZE + 1})
     INSERT INTO events (id, tag, type, version, data, created_at)
     SELECT -i, i, 'pet.created', 1, '{}', '2020-01-01T00:00:00.000Z' FROM n`,
    ).run();
    const { DB, statements } = observedJobDatabase();
    expect(await forgetOld(DB, "7")).toEqual({ keys: finished(0), events: finished(BATCH_SIZE) });
    expect(statements[1]?.meta.rows_written).toBe(EVENT_REMOVAL.rowsWritten * BATCH_SIZE);
    expect(Math.round((statements[1]?.meta.rows_read ?? 0) / BATCH_SIZE)).toBe(EVENT_REMOVAL.rowsRead);
  });

  test("a plan that allows fewer statements still removes keys with each run, and the job does not fail", async () => {
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${2.5 * BATCH_SIZE})
     INSERT INTO idempotency_keys (id, api_key_id, idempotency_key, fingerprint, resource_id, created_at)
     SELECT -i, 'plan', i, '', 1, unixepoch() - 90000 FROM n`,
    ).run();
    const allowing = (statements: number) => {
      let count = 0;
      const run = (sql: string, values: unknown[]) => {
        if (++count > statements) throw new Error("Too many API requests by single worker invocation.");
        return env.DB.prepare(sql)
          .bind(...values)
          .run();
      };
      const prepare = (sql: string) => ({ bind: (...values: unknown[]) => ({ run: async () => run(sql, values) }) });
      return { prepare } as unknown as D1Database;
    };
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
      ...create({ name: "Animal 12345", categoryId: 1 }, { "Idempotency-Key": idempotencyKey }),
    });
    const size = async () => (await env.DB.prepare("SELECT 1").run()).meta.size_after;
    /** Bytes per row, measured with many copies of a row. */
    const bytesOf = async (insert: string) => {
      const before = await size();
      await env.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) ${insert}`,
      ).run();
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

/** The row of a request in test/costs.ts. */
function rowOf(name: string, cost: Cost): string {
  const { d1RoundTrips, rowsRead, rowsWritten, ...others } = cost;
  const short = { 0: "NOTHING", 1: `rows(${rowsRead}${rowsWritten === 0 ? "" : `, ${rowsWritten}`})` }[d1RoundTrips];
  return `"${name}": ${others.kvReads > 0 || short === undefined ? JSON.stringify(cost) : short},`;
}

/** Sends a request and counts its round trips at the bindings. The rows are those of D1, from the log line. */
async function ask(path: string, request: Call) {
  const get = vi.spyOn(env.API_KEYS, "get");
  const log = vi.spyOn(console, "log");
  try {
    const { DB, roundTrips } = faultyDatabase();
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
