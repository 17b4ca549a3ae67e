import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, afterEach, expect, test, vi } from "vitest";
import { call, expectError, expectJson } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";
import { linesOf } from "../support/log-lines.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { wrappedDatabase } from "../support/wrapped-d1.ts";

let key: string;
beforeAll(async () => {
  key = await grantKey({ scopes: ["store:read"] });
});

let now = Date.now();
/** The clock of the isolate goes on. */
const forget = (milliseconds = 10_000) => vi.setSystemTime((now += milliseconds));
/** The clock of the database goes on, or goes back. */
const agePresent = (milliseconds: number) =>
  env.DB.prepare("UPDATE inventory SET counted_at = counted_at - ?").bind(milliseconds).run();
async function wait(milliseconds: number) {
  forget(milliseconds);
  await agePresent(milliseconds);
}
beforeEach(async () => {
  vi.useFakeTimers({ now, toFake: ["Date"] });
  // The count of another test is older than any count may be.
  await wait(600_000);
});
afterEach(() => {
  vi.useRealTimers();
});

const PATH = "/v1/store/inventory";
/** Asks, and tells how many round trips that took, and whether one of them counted. */
async function ask(headers: Record<string, string> = {}, method = "GET") {
  const { DB, statements, starts } = observedDatabase();
  const response = await call(PATH, { method, key, headers, bindings: { DB } });
  const counted = statements.some(({ meta }) => (meta?.rows_written ?? 0) > 0);
  return { response, starts, asked: starts.length, counted, age: response.headers.get("Age") };
}
/** So many seconds or somewhat more, by the clock of the database, which goes on while a test runs. */
const atLeast = (seconds: number) =>
  expect.toSatisfy((age: string) => Number(age) >= seconds && Number(age) < seconds + 20);
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
  await env.DB.batch([env.DB.prepare("DELETE FROM pets"), env.DB.prepare("DELETE FROM inventory")]);
  const empty = await ask();
  expect(await expectJson(empty.response, 200)).toEqual({ available: 0, pending: 0, sold: 0 });
  expect(empty.response.headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f-]{59}$/);
  await env.DB.exec(
    "INSERT INTO pets (name, category_id, status) VALUES ('a', 1, 'sold'), ('b', 1, 'sold'), ('c', 1, 'available')",
  );
  await wait(10_000);
  expect(await (await ask()).response.json()).toEqual({ available: 1, pending: 0, sold: 2 });
});

// Promise: the-count-of-the-inventory
test("counts once in ten seconds, whatever a request asks for", async () => {
  const first = await ask();
  const bookmark = first.response.headers.get("x-d1-bookmark") ?? "";
  await wait(9_500);
  for (const headers of [
    {},
    { "Cache-Control": "no-cache" },
    { "x-d1-bookmark": bookmark },
    { "If-None-Match": "*" },
  ]) {
    const { response, asked, age } = await ask(headers);
    expect([asked, age]).toEqual([0, "9"]);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-d1-bookmark")).toBeNull();
    expect(await response.text()).toBe(await first.response.clone().text());
  }
  expect((await ask({}, "HEAD")).asked).toBe(0);
  await wait(500);
  const next = await ask({ "x-d1-bookmark": bookmark });
  expect([next.counted, next.age, next.starts]).toEqual([true, "0", ["first-primary"]]);
});

test("an isolate that has forgotten the count gets that of the database, with its age there", async () => {
  const { response } = await ask();
  await env.DB.exec("INSERT INTO pets (name, category_id, status) VALUES ('a', 1, 'sold')");
  await agePresent(4_000);
  forget();
  const other = await ask();
  expect([other.asked, other.counted, other.age]).toEqual([1, false, atLeast(4)]);
  expect(other.response.headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f-]{59}$/);
  expect(await other.response.text()).toBe(await response.text());
  // The rest of its ten seconds.
  await wait(2_000);
  expect(await ask()).toMatchObject({ asked: 0, age: atLeast(6) });
  await wait(4_000);
  expect(await ask()).toMatchObject({ asked: 1, counted: true, age: "0" });
});

// Promise: inventory-age, the-count-of-the-inventory
test("a count of a million animals stands for 50 seconds", async () => {
  await ask();
  await env.DB.exec("UPDATE inventory SET available = 999000, pending = 600, sold = 400");
  await agePresent(35_000);
  forget(40_000);
  const large = await ask();
  expect(large).toMatchObject({ asked: 1, counted: false, age: atLeast(35) });
  expect(await large.response.json()).toEqual({ available: 999_000, pending: 600, sold: 400 });
  await wait(10_000);
  expect(await ask()).toMatchObject({ asked: 0, age: atLeast(45) });
  await wait(5_000);
  expect(await ask()).toMatchObject({ counted: true, age: "0" });
});

test.each([
  ["from the future", -60_000],
  ["of a backup", 86_400_000],
])("a count %s does not stand", async (_name, age) => {
  await ask();
  await agePresent(age);
  forget();
  expect(await ask()).toMatchObject({ counted: true, age: "0" });
});

test("the clock of an isolate does not decide how old a count is", async () => {
  await ask();
  for (const milliseconds of [86_400_000, -86_400_000]) {
    forget(milliseconds);
    expect(await ask()).toMatchObject({ asked: 1, counted: false, age: atLeast(0) });
  }
});

test("a count whose response is lost is not repeated", async () => {
  await ask();
  await wait(10_000);
  const { DB, roundTrips } = observedDatabase({ when: "after", message: "D1_ERROR: Network connection lost." });
  const response = await call(PATH, { key, bindings: { DB } });
  expect([response.status, roundTrips()]).toEqual([200, 2]);
  forget();
  expect((await ask()).counted).toBe(false);
});

// Promise: the-count-of-the-inventory
test("while one counts, the others get the last count", async () => {
  await ask();
  await wait(10_000);
  const { DB, came, release } = slowDatabase();
  const counting = call(PATH, { key, bindings: { DB } });
  await came;
  await wait(15_000);
  expect(await ask()).toMatchObject({ asked: 0, age: "25" });
  release();
  // It is as old as its request, at most.
  expect((await counting).headers.get("Age")).toBe("15");
  expect(await ask()).toMatchObject({ asked: 1, counted: false, age: atLeast(0) });
});

// Promise: the-count-of-the-inventory
test("a count that never ends is given up after 30 seconds", async () => {
  await ask();
  await wait(10_000);
  const { DB, came, release } = slowDatabase();
  const stuck = call(PATH, { key, bindings: { DB } });
  await came;
  await wait(29_500);
  expect((await ask()).asked).toBe(0);
  await wait(500);
  expect((await ask()).counted).toBe(true);
  release();
  await stuck;
  // A late count does not replace a younger one.
  expect(await ask()).toMatchObject({ asked: 0, age: "0" });
});

test("a count that was given up does not end the one after it", async () => {
  await ask();
  await wait(10_000);
  const [stuck, next] = [slowDatabase(), slowDatabase()];
  const first = call(PATH, { key, bindings: { DB: stuck.DB } });
  await stuck.came;
  await wait(30_000);
  const second = call(PATH, { key, bindings: { DB: next.DB } });
  await next.came;
  stuck.release();
  await first;
  expect(await ask()).toMatchObject({ asked: 0, age: "30" });
  next.release();
  await second;
});

test("a count that fails is 503 for its request, and the next one counts again", async () => {
  await ask();
  await wait(10_000);
  const { DB } = observedDatabase({
    when: "before",
    message: "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
  });
  await expectError(await call(PATH, { key, bindings: { DB } }), "service_unavailable");
  expect((await ask()).counted).toBe(true);
});

test("a clock that is set back makes no negative age, and does not end the memory of counts", async () => {
  await ask();
  await wait(10_000);
  const { DB, came, release } = slowDatabase();
  const counting = call(PATH, { key, bindings: { DB } });
  await came;
  forget(-5_000);
  release();
  expect((await counting).headers.get("Age")).toBe("0");
  expect(await ask()).toMatchObject({ asked: 1, counted: false, age: atLeast(0) });
  expect((await ask()).asked).toBe(0);
});

test("only the line of a count from memory says so", async () => {
  const { log } = await linesOf(ask);
  expect(log[0]).not.toHaveProperty("cached");
  const { log: second } = await linesOf(ask);
  expect(second[0]).toMatchObject({ cached: true, route: PATH });
  expect(second[0]).not.toHaveProperty("d1RowsRead");
});
