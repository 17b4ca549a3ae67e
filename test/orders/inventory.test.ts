import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, afterEach, expect, test, vi } from "vitest";
import { call, expectError, expectJson } from "../support/client.ts";
import { faultyDatabase } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { wrappedDatabase } from "../support/wrapped-d1.ts";

let key: string;
beforeAll(async () => {
  key = await grantKey({ scopes: ["store:read"] });
});

let now = Date.now();
const wait = (milliseconds: number) => vi.setSystemTime((now += milliseconds));
beforeEach(() => {
  // The count of another test is older than any count may be.
  now += 600_000;
  vi.useFakeTimers({ now, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const PATH = "/v1/store/inventory";
async function ask(headers: Record<string, string> = {}, method = "GET") {
  const { DB, statements, starts } = observedDatabase();
  const response = await call(PATH, { method, key, headers, bindings: { DB } });
  return { response, starts, asked: statements.length };
}
/** A database whose next round trip waits for `release`, and says when it has come. */
function slowDatabase() {
  const { promise: came, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const DB = wrappedDatabase(async (run) => {
    arrive();
    await released;
    return run();
  });
  return { DB, came, release };
}

test("counts the animals of each status, zeros included", async () => {
  await env.DB.exec("DELETE FROM pets");
  const empty = await ask();
  expect(await expectJson(empty.response, 200)).toEqual({ available: 0, pending: 0, sold: 0 });
  expect(empty.response.headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f-]{59}$/);
  await env.DB.exec(
    "INSERT INTO pets (name, category_id, status) VALUES ('a', 1, 'sold'), ('b', 1, 'sold'), ('c', 1, 'available')",
  );
  wait(10_000);
  expect(await (await ask()).response.json()).toEqual({ available: 1, pending: 0, sold: 2 });
});

test("counts once in ten seconds, whatever a request asks for", async () => {
  const first = await ask();
  const bookmark = first.response.headers.get("x-d1-bookmark") ?? "";
  wait(9_999);
  for (const headers of [
    {},
    { "Cache-Control": "no-cache" },
    { "x-d1-bookmark": bookmark },
    { "If-None-Match": "*" },
  ]) {
    const { response, asked } = await ask(headers);
    expect(asked).toBe(0);
    expect(response.status).toBe(200);
    expect(response.headers.get("Age")).toBe("9");
    expect(response.headers.get("x-d1-bookmark")).toBeNull();
    expect(await response.text()).toBe(await first.response.clone().text());
  }
  expect((await ask({}, "HEAD")).asked).toBe(0);
  wait(1);
  const next = await ask({ "x-d1-bookmark": bookmark });
  expect([next.asked, next.response.headers.get("Age"), next.starts]).toEqual([1, null, ["first-unconstrained"]]);
});

test("sixty requests a minute count six times", async () => {
  let counts = 0;
  for (let request = 0; request < 60; request++) {
    counts += (await ask()).asked;
    wait(1_000);
  }
  expect(counts).toBe(6);
});

test("while one counts, the others get the last count", async () => {
  await ask();
  wait(10_000);
  const { DB, came, release } = slowDatabase();
  const counting = call(PATH, { key, bindings: { DB } });
  await came;
  wait(15_000);
  const { response, asked } = await ask();
  expect([asked, response.headers.get("Age")]).toEqual([0, "25"]);
  release();
  expect((await counting).headers.get("Age")).toBeNull();
  // It counts from before its query.
  expect((await ask()).asked).toBe(1);
});

test("a count that never ends is given up after 30 seconds", async () => {
  await ask();
  wait(10_000);
  const { DB, came, release } = slowDatabase();
  const stuck = call(PATH, { key, bindings: { DB } });
  await came;
  wait(29_999);
  expect((await ask()).asked).toBe(0);
  wait(1);
  expect((await ask()).asked).toBe(1);
  release();
  await stuck;
  // A late count does not replace a younger one.
  expect((await ask()).response.headers.get("Age")).toBe("0");
});

test("a count that was given up does not end the one after it", async () => {
  await ask();
  wait(10_000);
  const [stuck, next] = [slowDatabase(), slowDatabase()];
  const first = call(PATH, { key, bindings: { DB: stuck.DB } });
  await stuck.came;
  wait(30_000);
  const second = call(PATH, { key, bindings: { DB: next.DB } });
  await next.came;
  stuck.release();
  await first;
  const { response, asked } = await ask();
  expect([asked, response.headers.get("Age")]).toEqual([0, "30"]);
  next.release();
  await second;
});

test("a count that fails is 503 for its request, and the next one counts again", async () => {
  await ask();
  wait(10_000);
  const { DB } = faultyDatabase({
    when: "before",
    message: "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
  });
  await expectError(await call(PATH, { key, bindings: { DB } }), "service_unavailable");
  expect((await ask()).asked).toBe(1);
});

test("a clock that is set back makes no negative age, and does not end the memory of counts", async () => {
  await ask();
  wait(-5_000);
  const { response, asked } = await ask();
  expect([asked, response.headers.get("Age")]).toEqual([1, null]);
  expect((await ask()).asked).toBe(0);
});

test("the line of a count from memory says so", async () => {
  await ask();
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  await ask();
  const line: unknown = JSON.parse(String(log.mock.lastCall?.[0]));
  log.mockRestore();
  expect(line).toMatchObject({ cached: true, route: PATH });
  expect(line).not.toHaveProperty("d1RowsRead");
});

test("a malformed bookmark is 400, and a key of the animals alone is refused", async () => {
  await ask();
  await expectError((await ask({ "x-d1-bookmark": "latest" })).response, "invalid_request");
  const other = await grantKey({ scopes: ["pets:read", "pets:write", "store:write"] });
  await expectError(await call(PATH, { key: other }), "insufficient_scope");
});
