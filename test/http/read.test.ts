import { env } from "cloudflare:workers";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Int64 } from "../../src/exact/int64.ts";
import { encodeCursor } from "../../src/http/cursor.ts";
import { requestedAge } from "../../src/http/max-age.ts";
import { MAX_CACHED_BYTES } from "../../src/http/read.ts";
import { IsolateCache } from "../../src/isolate-cache.ts";
import { call, create, expectError, idOf } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { wrappedDatabase } from "../support/wrapped-d1.ts";

/** The paths of an animal, a category and an order, each in its second version. */
const items: string[] = [];
beforeAll(async () => {
  const pet = await create("/v1/pets", { name: "Rex", categoryId: 1 });
  // The first one is for tests that change it.
  await create("/v1/categories", { name: "Changing" });
  const category = await create("/v1/categories", { name: "Dogs of the reads" });
  const order = await create("/v1/store/orders", { petId: idOf(pet) });
  await call(category, { method: "PATCH", key, body: { description: "Good ones." } });
  await call(order, { method: "PATCH", key, body: { status: "shipped" } });
  await call(pet, { method: "PATCH", key, body: { name: "Max" } });
  // Placed, then sold, then renamed.
  await env.DB.prepare("UPDATE pets SET version = 2 WHERE id = ?").bind(idOf(pet)).run();
  items.push(pet, category, order);
});

/** Each test has a minute of its own, so that none finds what another one remembered. */
let now = Date.now();
beforeEach(() => {
  now += 120_000;
  vi.useFakeTimers({ now, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

// Promise: ids-are-exact
test("an id beyond 2^53 of a category or an order is exact, in its path and in its list", async () => {
  const id = "9007199254740993";
  await env.DB.batch([
    env.DB.prepare(`INSERT INTO categories (id, name) VALUES (${id}, 'Far')`),
    env.DB.prepare(
      `INSERT INTO orders (id, pet_id, status, created_at) VALUES (${id}, ${id}, 'cancelled', '2026-01-01T00:00:00.000Z')`,
    ),
  ]);
  for (const path of ["/v1/categories", "/v1/store/orders"]) {
    const item = await (await call(`${path}/${id}`, { key })).text();
    expect(item).toMatch(new RegExp(`^{"id":${id},`));
    expect(await (await call(`${path}?sort=-id&limit=1`, { key })).text()).toBe(`[${item}]`);
    expect((await call(`${path}/9007199254740992`, { key })).status).toBe(404);
  }
  for (const [petId, found] of [
    [id, 1],
    ["9007199254740992", 0],
  ] as const) {
    const orders = await (await call(`/v1/store/orders?petId=${petId}`, { key })).text();
    expect(orders.split(`"petId":${id},`)).toHaveLength(1 + found);
  }
  await env.DB.batch(["categories", "orders"].map((table) => env.DB.prepare(`DELETE FROM ${table} WHERE id = ${id}`)));
});

describe.each([0, 1, 2])("preconditions of a read: resource %i", (index) => {
  const read = (headers: Record<string, string>, method = "GET") => call(items[index] ?? "", { method, key, headers });

  // Promise: if-none-match, lists-of-tags
  test.each(['"2"', 'W/"2"', '"1", "2"', "*"])("If-None-Match: %s is answered 304 without a body", async (tag) => {
    for (const method of ["GET", "HEAD"]) {
      const response = await read({ "If-None-Match": tag }, method);
      expect(response.status).toBe(304);
      expect(await response.text()).toBe("");
      expect(response.headers.get("ETag")).toBe('"2"');
      expect(response.headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f-]{59}$/);
      expect(response.headers.get("Content-Type")).toBeNull();
      expect(response.headers.get("Cache-Control")).toBe("private, no-store");
    }
  });

  test.each(['"1"', 'W/"3"', "2", '"2', ""])("If-None-Match: %s is answered 200", async (tag) => {
    expect((await read({ "If-None-Match": tag })).status).toBe(200);
  });

  // Promise: if-none-match, preconditions-are-evaluated
  test.each(['"1"', '"1", W/"3"'])("If-Match: %s is answered 412", async (tag) => {
    await expectError(await read({ "If-Match": tag }), "precondition_failed");
    // If-Match comes first (RFC 9110, section 13.2.2).
    await expectError(await read({ "If-Match": tag, "If-None-Match": '"2"' }), "precondition_failed");
  });

  // Promise: lists-of-tags
  test.each(['"2"', 'W/"2"', "*", "2", '"1'])("If-Match: %s is answered as without it", async (tag) => {
    expect((await read({ "If-Match": tag })).status).toBe(200);
    expect((await read({ "If-Match": tag, "If-None-Match": "*" })).status).toBe(304);
  });
});

test("a 304 of a deprecated operation tells of the deprecation", async () => {
  const response = await call(items[0] ?? "", { key, headers: { "If-None-Match": "*" } });
  expect(response.headers.get("Sunset")).toBe("Thu, 05 Dec 2030 00:00:00 GMT");
});

// Promise: preconditions-elsewhere
test.each(["/v1/pets", "/v1/categories", "/v1/store/orders", "/v1/store/inventory", "/v1/events"])(
  "preconditions are ignored: %s",
  async (path) => {
    for (const headers of [{ "If-None-Match": "*" }, { "If-Match": '"99"' }, { "If-Match": "x" }]) {
      expect((await call(path, { key, headers })).status).toBe(200);
    }
  },
);

describe("reads that may be old", () => {
  const maxAge = (seconds: number | string) => ({ "Cache-Control": `max-age=${seconds}` });
  /** Asks, and tells whether D1 was asked. */
  async function ask(path: string, headers: Record<string, string> = {}, bindings: Partial<Env> = {}, method = "GET") {
    const { DB, statements } = observedDatabase();
    const response = await call(path, { method, key, headers, bindings: { DB, ...bindings } });
    return { response, asked: statements.length > 0 };
  }
  const wait = (milliseconds: number) => vi.setSystemTime((now += milliseconds));

  // Promise: reads-from-memory
  test.each([
    "/v1/pets?limit=1",
    "/v1/categories?limit=1",
    "/v1/store/orders?limit=1",
    "/v1/pets/1",
    "/v1/categories/1",
    "/v1/store/orders/1",
  ])("%s comes from memory until it is too old", async (path) => {
    const first = await ask(path, maxAge(5));
    expect(first.asked).toBe(true);
    expect(first.response.headers.get("Age")).toBeNull();
    wait(4_999);
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const second = await ask(path, maxAge(5));
    expect(JSON.parse(String(log.mock.lastCall?.[0]))).toMatchObject({ cached: true, status: 200 });
    expect(JSON.parse(String(log.mock.lastCall?.[0]))).not.toHaveProperty("d1RowsRead");
    log.mockRestore();
    expect(second.asked).toBe(false);
    expect(second.response.headers.get("Age")).toBe("4");
    for (const name of ["ETag", "Link", "x-d1-bookmark", "Content-Type", "Sunset"]) {
      expect(second.response.headers.get(name), name).toBe(first.response.headers.get(name));
    }
    expect(second.response.headers.get("X-Request-Id")).not.toBe(first.response.headers.get("X-Request-Id"));
    expect(await second.response.text()).toBe(await first.response.text());
    // Younger than this request allows, and older than that one does.
    expect((await ask(path, maxAge(4))).asked).toBe(true);
    wait(5_000);
    expect((await ask(path, maxAge(5))).asked).toBe(true);
    wait(59_999);
    expect((await ask(path, maxAge(60))).asked).toBe(false);
    wait(1);
    expect((await ask(path, maxAge(999_999_999_999))).asked).toBe(true);
  });

  // Promise: directives-that-ask
  test.each([undefined, "max-age=0", "no-cache", "max-age=x", "private"])(
    "asks the database, as always: %s",
    async (directive) => {
      await ask("/v1/pets/1", maxAge(60));
      const { response, asked } = await ask(
        "/v1/pets/1",
        directive === undefined ? {} : { "Cache-Control": directive },
      );
      expect(asked).toBe(true);
      expect(response.headers.get("Age")).toBeNull();
    },
  );

  // Promise: memory-respects-bookmarks
  test("a change shows to others after so many seconds, and to its caller at once", async () => {
    await ask("/v1/categories/1", maxAge(10));
    const changed = await call("/v1/categories/1", { method: "PATCH", key, body: { name: `Renamed ${now}` } });
    const bookmark = changed.headers.get("x-d1-bookmark") ?? "";
    const old = await ask("/v1/categories/1", maxAge(10));
    expect(old.asked).toBe(false);
    expect(await old.response.json()).not.toMatchObject({ name: `Renamed ${now}` });
    const own = await ask("/v1/categories/1", { ...maxAge(10), "x-d1-bookmark": bookmark });
    expect(own.asked).toBe(true);
    expect(await own.response.json()).toMatchObject({ name: `Renamed ${now}` });
    // The database answered with a place that is not before the bookmark, so the memory now serves this caller too.
    expect((await ask("/v1/categories/1", { ...maxAge(10), "x-d1-bookmark": bookmark })).asked).toBe(false);
  });

  test("a malformed bookmark is 400, also for what is remembered", async () => {
    await ask("/v1/pets/1", maxAge(10));
    const { response, asked } = await ask("/v1/pets/1", { ...maxAge(10), "x-d1-bookmark": "latest" });
    await expectError(response, "invalid_request");
    expect(asked).toBe(false);
  });

  test("every key that may read it shares it, and no other key sees it", async () => {
    await ask("/v1/store/orders", maxAge(10));
    const other = await grantKey({ scopes: ["store:read"] });
    expect((await call("/v1/store/orders", { key: other, headers: maxAge(10) })).headers.get("Age")).toBe("0");
    const stranger = await grantKey({ scopes: ["pets:read"] });
    await expectError(await call("/v1/store/orders", { key: stranger, headers: maxAge(10) }), "insufficient_scope");
    await expectError(await call("/v1/store/orders", { headers: maxAge(10) }), "unauthorized");
    const RATE_LIMITER = { limit: () => Promise.resolve({ success: false }) };
    const { response } = await ask("/v1/store/orders", maxAge(10), { RATE_LIMITER });
    await expectError(response, "rate_limited");
  });

  test("preconditions are evaluated on what is remembered", async () => {
    const tag = (await ask("/v1/categories/1", maxAge(10))).response.headers.get("ETag") ?? "";
    const { response, asked } = await ask("/v1/categories/1", { ...maxAge(10), "If-None-Match": tag });
    expect([response.status, asked, response.headers.get("Age")]).toEqual([304, false, "0"]);
    const other = await ask("/v1/categories/1", { ...maxAge(10), "If-Match": '"999"' });
    await expectError(other.response, "precondition_failed");
    expect(other.asked).toBe(false);
  });

  test("HEAD and GET share", async () => {
    await ask("/v1/pets/1", maxAge(10), {}, "HEAD");
    const { response, asked } = await ask("/v1/pets/1", maxAge(10));
    expect(asked).toBe(false);
    expect(await response.json()).toMatchObject({ id: 1 });
  });

  test("equal queries in other bytes share, and other queries do not", async () => {
    await ask("/v1/pets?status=sold&limit=007", maxAge(10));
    const { response, asked } = await ask("/v1/pets?limit=7&&status=s%6fld", maxAge(10));
    expect([response.status, asked]).toEqual([200, false]);
    for (const query of ["limit=7", "limit=7&status=pending", "limit=8&status=sold", "limit=7&status=sold&sort=-id"]) {
      expect((await ask(`/v1/pets?${query}`, maxAge(10))).asked, query).toBe(true);
    }
  });

  test("each animal, each category and each order has a memory of its own", async () => {
    const pet = await create("/v1/pets", { name: "Another", categoryId: 1 });
    const category = await create("/v1/categories", { name: `Another ${now}` });
    const order = await create("/v1/store/orders", { petId: idOf(pet) });
    for (const path of [...items, pet, category, order]) {
      const { response } = await ask(path, maxAge(10));
      expect(await response.json(), path).toMatchObject({ id: idOf(path) });
    }
  });

  test("each request gets a link to the host that it asked, whoever came first", async () => {
    await env.DB.exec("INSERT INTO categories (name) VALUES ('A second category'), ('A third category')");
    const ask = (host: string, Origin?: string) =>
      call("/v1/categories?limit=1", { key, headers: { ...maxAge(10), ...(Origin ? { Origin } : {}) }, host });
    const foreign = await ask("evil.example", "https://evil.example");
    expect(foreign.headers.get("Link")).toMatch("<https://evil.example/v1/categories?limit=1&cursor=");
    const own = await ask("pets.example");
    expect(own.headers.get("Age")).toBe("0");
    expect(own.headers.get("Link")).toMatch("<https://pets.example/v1/categories?limit=1&cursor=");
    expect(own.headers.get("Access-Control-Allow-Origin")).toBeNull();
  });

  test("no failure is remembered", async () => {
    await expectError((await ask("/v1/pets/999999", maxAge(10))).response, "not_found");
    expect((await ask("/v1/pets/999999", maxAge(10))).asked).toBe(true);
    const { DB } = observedDatabase({
      when: "before",
      message: "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
    });
    await expectError(await call("/v1/pets/1", { key, headers: maxAge(10), bindings: { DB } }), "service_unavailable");
    expect((await ask("/v1/pets/1", maxAge(10))).asked).toBe(true);
  });

  test("nothing is remembered of a database that gives no bookmark", async () => {
    const { DB } = observedDatabase();
    const silent = {
      withSession: (start: string) => Object.assign(DB.withSession(start), { getBookmark: () => null }),
    } as unknown as D1Database;
    await call("/v1/pets/1", { key, headers: maxAge(10), bindings: { DB: silent } });
    expect((await ask("/v1/pets/1", maxAge(10))).asked).toBe(true);
  });

  test("a bookmark that D1 never gave is not remembered, and hides no change from others", async () => {
    const forged = "ffffffff-ffffffff-ffffffff-ffffffffffffffffffffffffffffffff";
    await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": forged });
    const next = await ask("/v1/categories/1", maxAge(60));
    expect(next.response.headers.get("x-d1-bookmark")).not.toBe(forged);
    const changed = await call("/v1/categories/1", { method: "PATCH", key, body: { name: `Not hidden ${now}` } });
    await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": forged });
    const bookmark = changed.headers.get("x-d1-bookmark") ?? "";
    const own = await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": bookmark });
    expect(await own.response.json()).toMatchObject({ name: `Not hidden ${now}` });
  });

  test("a bookmark that D1 gave is remembered, also when nothing has changed since", async () => {
    const { response } = await ask("/v1/categories/1");
    const bookmark = response.headers.get("x-d1-bookmark") ?? "";
    await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": bookmark });
    expect((await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": bookmark })).asked).toBe(false);
  });

  test("a bookmark that D1 gave is remembered, also after a response of a replica that lags", async () => {
    /** D1, whose sessions have reached this bookmark. */
    const at = (bookmark: string) => {
      const { DB } = observedDatabase();
      const withSession = (start: string) => Object.assign(DB.withSession(start), { getBookmark: () => bookmark });
      return { DB: { withSession } as unknown as D1Database };
    };
    const older = (await ask("/v1/pets/1")).response.headers.get("x-d1-bookmark") ?? "";
    const changed = await call("/v1/categories/1", { method: "PATCH", key, body: { name: `Newer ${now}` } });
    const newer = changed.headers.get("x-d1-bookmark") ?? "";
    expect(newer > older).toBe(true);
    await ask("/v1/pets/1", {}, at(older));
    await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": newer }, at(newer));
    expect((await ask("/v1/categories/1", { ...maxAge(60), "x-d1-bookmark": newer })).asked).toBe(false);
  });

  test("the age counts from before the query, however long it takes", async () => {
    const { DB } = observedDatabase();
    const slow = {
      withSession(start: string) {
        wait(4_000);
        return DB.withSession(start);
      },
    } as unknown as D1Database;
    await call("/v1/pets/1", { key, headers: maxAge(5), bindings: { DB: slow } });
    expect((await ask("/v1/pets/1", maxAge(5))).response.headers.get("Age")).toBe("4");
    wait(1_000);
    expect((await ask("/v1/pets/1", maxAge(5))).asked).toBe(true);
  });

  test("a slow read does not replace one that began later", async () => {
    const category = await create("/v1/categories", { name: `Earlier ${now}` });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: came, resolve: arrive } = Promise.withResolvers<void>();
    const DB = wrappedDatabase(async (run) => {
      const results = await run();
      arrive();
      await released;
      return results;
    });
    const slow = call(category, { key, headers: maxAge(60), bindings: { DB } });
    await came;
    wait(5_000);
    await call(category, { method: "PATCH", key, body: { name: `Later ${now}` } });
    await ask(category, maxAge(1));
    release();
    expect(await (await slow).json()).not.toMatchObject({ name: `Later ${now}` });
    const { response, asked } = await ask(category, maxAge(60));
    expect([asked, response.headers.get("Age")]).toEqual([false, "0"]);
    expect(await response.json()).toMatchObject({ name: `Later ${now}` });
  });

  describe("READ_MAX_AGE, the setting of the operator,", () => {
    const setting = (value: unknown) => ({ READ_MAX_AGE: value }) as Partial<Env>;

    // Promise: operators-allow-old-reads
    test("is for requests without a directive and without a bookmark", async () => {
      const first = await ask("/v1/pets/1", {}, setting("10"));
      expect(first.asked).toBe(true);
      expect((await ask("/v1/pets/1", {}, setting("10"))).response.headers.get("Age")).toBe("0");
      expect((await ask("/v1/pets/1", { "Cache-Control": "max-age=x" }, setting("10"))).asked).toBe(false);
      expect((await ask("/v1/pets/1", { "Cache-Control": "no-cache" }, setting("10"))).asked).toBe(true);
      const bookmark = first.response.headers.get("x-d1-bookmark") ?? "";
      expect((await ask("/v1/pets/1", { "x-d1-bookmark": bookmark }, setting("10"))).asked).toBe(true);
      wait(10_000);
      expect((await ask("/v1/pets/1", {}, setting("10"))).asked).toBe(true);
    });

    test.each([undefined, "", "0", "-5", "x", "1e1", "5.5"])("%s asks the database", async (value) => {
      await ask("/v1/pets/1", maxAge(60));
      expect((await ask("/v1/pets/1", {}, setting(value))).asked).toBe(true);
    });

    test("is 60 seconds at most", async () => {
      await ask("/v1/pets/1", maxAge(60));
      wait(60_000);
      expect((await ask("/v1/pets/1", {}, setting("3600"))).asked).toBe(true);
    });
  });

  test("the memory has a bound in bytes, those of the queries included, and drops what it read first", async () => {
    const ids = Array.from({ length: 100 }, (_, index) => 4_000_000_000_000_000 + index);
    await env.DB.prepare(
      "INSERT INTO pets (id, name, category_id, status) SELECT value, ?, 1, 'available' FROM json_each(?)",
    )
      .bind("🐕".repeat(200), JSON.stringify(ids))
      .run();
    const first = `/v1/pets?limit=100&id=${ids.join("&id=")}`;
    const { response } = await ask(first, maxAge(60));
    // Two bytes a character. The ids are most of a query.
    const pages = Math.ceil(MAX_CACHED_BYTES / (2 * ((await response.text()).length + ids.join("").length)));
    const page = (index: number) => `${first}&cursor=${encodeCursor({ after: String(index) as Int64, sort: "id" })}`;
    for (let index = 1; index < pages / 2; index++) await ask(page(index), maxAge(60));
    expect((await ask(first, maxAge(60))).asked).toBe(false);
    for (let index = 1; index <= pages; index++) await ask(page(index), maxAge(60));
    expect((await ask(first, maxAge(60))).asked).toBe(true);
    expect((await ask(page(pages), maxAge(60))).asked).toBe(false);
  });
});

test("what is larger than the whole memory is not remembered, and evicts nothing", () => {
  const memory = new IsolateCache<string>(10, 100);
  memory.set("small", "small", now, 1);
  memory.set("large", "large", now, 101);
  expect([memory.get("small", Infinity)?.value, memory.get("large", Infinity)]).toEqual(["small", undefined]);
  memory.set("large", "large", now, 100);
  expect([memory.get("small", Infinity), memory.get("large", Infinity)?.value]).toEqual([undefined, "large"]);
});

test.each<[string, number | undefined]>([
  ["max-age=5", 5],
  ["MAX-AGE=5", 5],
  ['max-age="5"', 5],
  ["  max-age=5  ,x", 5],
  ["max-age=5,max-age=3", 3],
  ["max-age=61", 60],
  [`max-age=${"9".repeat(200)}`, 60],
  ["no-store", 0],
  ["No-Cache, max-age=5", 0],
  ["", undefined],
  ["max-age", undefined],
  ["max-age=", undefined],
  ["max-age=-1", undefined],
  ["max-age=1.5", undefined],
  ['max-age="5', undefined],
  ["max-age = 5", undefined],
  ["s-maxage=5", undefined],
  ["only-if-cached", undefined],
  ['x="a, max-age=60, b"', undefined],
  ['x="a, b", max-age=6', 6],
  ['x="max-age=5', undefined],
  ["max-age=5".padEnd(256), 5],
  ["max-age=5".padEnd(257), undefined],
])("Cache-Control: %s", (header, seconds) => {
  expect(requestedAge(header)).toBe(seconds);
});
