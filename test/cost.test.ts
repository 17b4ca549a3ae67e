import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { generateKey } from "../src/auth/key-format.ts";
import { forgetExpiredKeys } from "../src/changes/purge.ts";
import { type Call, call } from "./support/client.ts";
import { faultyDatabase } from "./support/faulty-d1.ts";
import { grantKey } from "./support/keys.ts";

// What every kind of request costs in storage, which is what it costs in money and in round trips around the earth. A figure here
// rises only when somebody means it to; docs/capacity.md is built on them.

const NOTHING = { kvReads: 0, d1RoundTrips: 0, rowsRead: 0, rowsWritten: 0 };
const rows = (rowsRead: number, rowsWritten = 0) => ({ kvReads: 0, d1RoundTrips: 1, rowsRead, rowsWritten });
const REX = { name: "Rex", categoryId: 1 };
const patch = (body: object, headers = {}): Call => ({ method: "PATCH", body, headers });
const create = (body: object, headers = {}): Call => ({ method: "POST", body, headers });

let warmKey: string;
let readOnlyKey: string;
beforeAll(async () => {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
     INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, 1000 + i, 'available' FROM n`,
  ).run();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
     INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, -1, CASE WHEN i % 2 THEN 'sold' ELSE 'pending' END FROM n`,
  ).run();
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
     INSERT INTO categories (name) SELECT 'Category ' || i FROM n`,
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

test.each<[string, number, typeof NOTHING, string, Call?]>([
  ["a list of 20", 200, rows(21), "/v1/pets"],
  ["a list of 100", 200, rows(101), "/v1/pets?limit=100"],
  ["a list by status", 200, rows(21), "/v1/pets?status=available"],
  ["a creation", 201, rows(5, 4), "/v1/pets", create(REX)],
  ["a creation under a key", 201, rows(9, 6), "/v1/pets", create(REX, { "Idempotency-Key": "new" })],
  ["a creation repeated", 201, rows(7), "/v1/pets", create(REX, { "Idempotency-Key": "known" })],
  [
    "another creation under a known key",
    422,
    rows(7),
    "/v1/pets",
    create({ ...REX, name: "Max" }, { "Idempotency-Key": "known" }),
  ],
  ["a list by category", 200, rows(4), "/v1/pets?categoryId=1005"],
  ["a list by the category of many", 200, rows(23), "/v1/pets?categoryId=-1"],
  ["a list by category and status", 200, rows(21), "/v1/pets?categoryId=-1&status=sold"],
  ["a list of three animals", 200, rows(9), "/v1/pets?id=1&id=2&id=3"],
  ["a list by all filters", 200, rows(9), "/v1/pets?id=1&id=2&id=3&categoryId=1001&status=available"],
  ["an animal", 200, rows(1), "/v1/pets/1"],
  ["a change of a name", 200, rows(2, 1), "/v1/pets/7", patch({ name: "Max" })],
  ["a change of a status", 200, rows(3, 3), "/v1/pets/8", patch({ status: "sold" })],
  ["a change of everything", 200, rows(4, 3), "/v1/pets/9", patch({ ...REX, status: "sold" }, { "If-Match": '"1"' })],
  ["a change of nothing", 200, rows(1), "/v1/pets/10", patch({})],
  ["a change to what is there", 200, rows(2), "/v1/pets/10", patch({ status: "available" })],
  ["a change of another version", 412, rows(3), "/v1/pets/10", patch({ name: "Max" }, { "If-Match": '"2"' })],
  ["a change of an animal that is not there", 404, rows(2), "/v1/pets/999999", patch({ name: "Max" })],
  ["a deletion", 204, rows(3, 1), "/v1/pets/11", { method: "DELETE" }],
  ["a deletion of an animal that is not there", 404, rows(3), "/v1/pets/11", { method: "DELETE" }],
  ["a list of categories", 200, rows(21), "/v1/categories"],
  ["a creation of a category", 201, rows(6, 3), "/v1/categories", create({ name: "New" })],
  [
    "a creation of a category under a key",
    201,
    rows(9, 5),
    "/v1/categories",
    create({ name: "Newer" }, { "Idempotency-Key": "category" }),
  ],
  ["a category with a name that another has", 409, rows(6), "/v1/categories", create({ name: "New" })],
  ["a new name of a category", 200, rows(3, 2), "/v1/categories/1", patch({ name: "Newest" })],
  ["a new description of a category", 200, rows(2, 1), "/v1/categories/1", patch({ description: "New" })],
  ["a name that another category has", 409, rows(4), "/v1/categories/1", patch({ name: "New" })],
  ["a deletion of a category", 204, rows(3, 1), "/v1/categories/30", { method: "DELETE" }],
  ["a deletion of a category that an animal names", 409, rows(5), "/v1/categories/1", { method: "DELETE" }],
  ["an animal that is not there", 404, rows(1), "/v1/pets/999999"],
  ["an id that is no int64", 404, NOTHING, "/v1/pets/rex"],
  ["a query that breaks a rule", 400, NOTHING, "/v1/pets?limit=0"],
  ["a cursor of somebody else", 400, NOTHING, "/v1/pets?cursor=AAAAAAAAAAAAAAAA"],
  ["a bad bookmark", 400, NOTHING, "/v1/pets", { headers: { "x-d1-bookmark": "latest" } }],
  ["a body that breaks a rule", 400, NOTHING, "/v1/pets", create({ name: "" })],
  ["a body of another media type", 415, NOTHING, "/v1/pets", create(REX, { "Content-Type": "text/plain" })],
  ["a placement", 201, rows(10, 7), "/v1/store/orders", create({ petId: 21 })],
  [
    "a placement under a key",
    201,
    rows(13, 9),
    "/v1/store/orders",
    create({ petId: 22 }, { "Idempotency-Key": "placement" }),
  ],
  ["a placement repeated", 201, rows(10), "/v1/store/orders", create({ petId: 23 }, { "Idempotency-Key": "order" })],
  ["a placement for an animal on order", 409, rows(8), "/v1/store/orders", create({ petId: 23 })],
  ["a list of orders", 200, rows(5), "/v1/store/orders"],
  ["a list of the orders of an animal", 200, rows(2), "/v1/store/orders?petId=23"],
  ["an order", 200, rows(1), "/v1/store/orders/1"],
  ["a shipment", 200, rows(5, 6), "/v1/store/orders/2", patch({ status: "shipped" })],
  ["a shipment repeated", 200, rows(4), "/v1/store/orders/2", patch({ status: "shipped" })],
  ["a cancellation", 204, rows(5, 6), "/v1/store/orders/3", { method: "DELETE" }],
  ["a cancellation repeated", 204, rows(4), "/v1/store/orders/3", { method: "DELETE" }],
  ["a patched status of an animal on order", 409, rows(4), "/v1/pets/23", patch({ status: "sold" })],
  ["a deletion of an animal on order", 409, rows(5), "/v1/pets/23", { method: "DELETE" }],
  ["an unknown path", 404, NOTHING, "/v1/stores"],
  ["a method that the path does not know", 405, NOTHING, "/v1/pets", { method: "DELETE" }],
  ["a key of the wrong form", 401, NOTHING, "/v1/pets", { key: "rex" }],
  ["a key of another environment", 401, NOTHING, "/v1/pets", { key: generateKey("production") }],
  ["a key that nobody has", 401, { ...NOTHING, kvReads: 1 }, "/v1/pets", { key: generateKey("local") }],
  ["the health check", 200, NOTHING, "/health"],
])("%s answers %i and costs %o", async (_, status, cost, path, request = {}) => {
  expect(await ask(path, { key: warmKey, ...request })).toEqual({ status, ...cost });
});

test("a key without the scope costs nothing", async () => {
  expect(await ask("/v1/pets", { ...create(REX), key: readOnlyKey })).toEqual({ status: 403, ...NOTHING });
});

test("the first request of a key in an isolate costs one read of KV more", async () => {
  expect(await ask("/v1/pets", { key: await grantKey() })).toEqual({ status: 200, ...rows(21), kvReads: 1 });
});

test("forgetting an idempotency key, a day later, costs four rows read and one written", async () => {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
     INSERT INTO idempotency_keys (id, api_key_id, idempotency_key, fingerprint, resource_id, created_at)
     SELECT -i, 'old', i, '', 1, unixepoch() - 90000 FROM n`,
  ).run();
  const meta: D1Meta[] = [];
  const DB = {
    prepare: (sql: string) => ({
      bind: (...values: unknown[]) => ({
        async run() {
          const result = await env.DB.prepare(sql)
            .bind(...values)
            .run();
          meta.push(result.meta);
          return result;
        },
      }),
    }),
  };
  expect(await forgetExpiredKeys(DB as unknown as D1Database)).toBe(500);
  // The second finds nothing more to remove.
  expect(meta).toHaveLength(2);
  expect(meta[0]?.rows_written).toBe(500);
  expect(meta[0]?.rows_read).toBeLessThanOrEqual(4 * 500 + 20);
});

/** Sends a request, and counts: round trips at the bindings, rows as D1 does, from the log line. */
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
