import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { retryAfterOf } from "../../src/webhooks/engine/retry-after.ts";
import { MAX_ATTEMPTS, nextAttempt } from "../../src/webhooks/engine/due.ts";
import {
  addEvents,
  addHook,
  atOnce,
  events,
  forget,
  hookWith,
  type Hook,
  HOUR,
  ids,
  lines,
  MINUTE,
  pass,
  received,
  respond,
  SECOND,
  versions,
  useReceiver,
} from "./endpoint.ts";

useReceiver();

/** Of a busy machine. */
const PATIENCE = { timeout: 60_000 };

const DELAYS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)];

describe("the attempts of an event", () => {
  // Promise: delays
  test.each(DELAYS.map((delay, index) => [index + 1, delay]))(
    "after %i of them, the next comes %i ms later, give or take a tenth",
    (attempts, delay) => {
      const random = vi.spyOn(Math, "random");
      random.mockReturnValue(0);
      expect(nextAttempt(attempts, 1_000, 0)).toBe(1_000 + Math.round(delay * 0.9));
      random.mockReturnValue(0.5);
      expect(nextAttempt(attempts, 1_000, 0)).toBe(1_000 + delay);
      random.mockReturnValue(0.999_999_999);
      expect(nextAttempt(attempts, 1_000, 0)).toBe(1_000 + Math.round(delay * 1.1));
    },
  );

  // Promise: numbers-of-webhooks
  test("are ten. Then it failed, a log line says so, and the next event of the resource follows", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const {
      hook,
      sent: [poisoned],
    } = await hookWith([1, 1]);
    respond(({ resource, version }) => (resource === 1 && version === 1 ? 400 : 204));
    const begin = Date.now();
    await hook.run();
    // Another event before each attempt keeps the endpoint healthy.
    for (const delay of DELAYS) {
      await addEvents([9]);
      await hook.run();
      await hook.leap(delay);
    }
    const times = received.filter(({ id }) => id === poisoned).map(({ at }) => at - begin);
    const sums = DELAYS.map((_delay, index) => DELAYS.slice(0, index + 1).reduce((sum, one) => sum + one));
    expect(times).toEqual([0, ...sums]);
    expect(times).toHaveLength(MAX_ATTEMPTS);
    expect(await hook.state()).toMatchObject({ pending: 0 });
    expect((await hook.deliveries()).find(({ event }) => event === poisoned)).toMatchObject({
      status: "failed",
      attempts: 10,
      response: 400,
    });
    const failures = lines.filter((line) => line.includes('"a delivery failed"')).map((line) => JSON.parse(line));
    expect(failures).toEqual([
      {
        level: "warn",
        message: "a delivery failed",
        webhook: hook.name,
        event: poisoned,
        response: 400,
        error: null,
        attempts: 10,
      },
    ]);
  });

  // Promise: webhook-id
  test("keep their own webhook-id, and have a timestamp each", async () => {
    const { hook } = await hookWith([1]);
    respond(() => 500);
    await hook.run();
    await hook.pass(10 * SECOND);
    expect(new Set(ids()).size).toBe(1);
    const stamps = received.map(({ init }) => new Headers(init.headers).get("webhook-timestamp"));
    expect(stamps).toHaveLength(2);
    expect(stamps).toEqual(received.map(({ at }) => String(Math.floor(at / 1_000))));
    expect(received[0]?.at).not.toBe(received[1]?.at);
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-11-22T08:30:00.000Z");
  // Promise: receivers-that-limit
  test.each([
    [null, 0],
    ["120", 120 * SECOND],
    ["0", 0],
    ["Sun, 22 Nov 2026 08:31:00 GMT", MINUTE],
    ["Sun, 22 Nov 2026 08:29:00 GMT", 0],
    ["Sunday, 22-Nov-26 08:31:00 GMT", MINUTE],
    ["Sun Nov 22 08:31:00 2026", MINUTE],
    ["Wed Dec  2 08:31:00 2026", 24 * HOUR],
    ["Sun, 22 Nov 2026 08:30:60 GMT", MINUTE],
    ["Sun, 22 Nov 2037 08:31:00 GMT", 24 * HOUR],
    // A year of two digits is at most 50 years ahead.
    ["Sunday, 22-Nov-76 08:31:00 GMT", 24 * HOUR],
    ["Tuesday, 22-Nov-77 08:31:00 GMT", 0],
    ["999999999", 24 * HOUR],
    ["9".repeat(64), 24 * HOUR],
    ["9".repeat(65), 0],
    ...[
      ["", "soon", "-5", "1.5", "+5", "1e3", "120, 120", "wait 45", "soon 2040", "2027-11-22T08:31:00Z"],
      ["Tue, 31 Feb 2027 08:31:00 GMT", "Sun, 00 Nov 2027 08:31:00 GMT", "Sun, 29 Feb 2027 08:31:00 GMT"],
      ["Wednesday, 31-Feb-27 08:31:00 GMT", "Tue Feb 31 08:31:00 2027", "Tue, 31 Feb 2027"],
      ["Sun, 22 Nov 2027 24:00:00 GMT", "Sun, 22 Nov 2027 08:60:00 GMT", "Sun, 22 Nov 2027 08:31:61 GMT"],
      ["Sun, 22 Nov 2027 08:31:00 +0000", "sun, 22 nov 2027 08:31:00 gmt", "Sun, 22 Nov 27 08:31:00 GMT"],
      ["Sun, 2 Nov 2027 08:31:00 GMT", "Sun, 22 Nov 2027 8:31:00 GMT", "Sun, 22 Nov 2027 08:31:00 GMT+1"],
    ].flatMap((texts) => texts.map((text): [string, number] => [text, 0])),
  ])("%s asks for %i ms", (header, milliseconds) => {
    expect(retryAfterOf(header, now)).toBe(milliseconds);
  });

  // Promise: receivers-that-limit
  test.each([
    [429, "60", 60],
    [503, "60", 60],
    [500, "60", 5],
    [429, "1", 5],
  ])("of a %i, %s s, holds the resource for %i seconds", async (status, asked, seconds) => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const { hook } = await hookWith([1]);
    respond(() => new Response(null, { status, headers: { "Retry-After": asked } }));
    await hook.run();
    await addEvents([1, 2]);
    await hook.pass(seconds * SECOND - 1);
    expect(versions()).toEqual(["1:1"]);
    await hook.pass(1);
    expect(versions().at(-1)).toBe("1:1");
  });

  // Promise: receivers-that-limit
  test("from three resources within a minute holds the endpoint, which does not fail", async () => {
    const { hook } = await hookWith(...events(3));
    respond(() => new Response(null, { status: 503, headers: { "Retry-After": "600" } }));
    await hook.run();
    expect(await hook.state()).toMatchObject({ health: "ok" });
    respond(() => 204);
    await addEvents([4]);
    await hook.pass(600 * SECOND - 1);
    expect(versions()).not.toContain("4:1");
    await hook.pass(SECOND);
    expect(versions()).toContain("4:1");
  });

  // Promise: receivers-that-limit
  test("from two resources holds these alone", async () => {
    const { hook } = await hookWith(...events(3));
    respond(({ resource }) =>
      resource < 3 ? new Response(null, { status: 429, headers: { "Retry-After": "600" } }) : 204,
    );
    await hook.run();
    await addEvents([4], [1, 2]);
    await hook.pass(2 * SECOND);
    expect(versions().slice(2)).toEqual(["3:1", "4:1"]);
  });
});

/** Refuses so many deliveries twice, within seconds. */
async function refusing(count: number): Promise<Hook> {
  const hook = await addHook();
  respond(() => 500);
  await addEvents(...events(count));
  await hook.run();
  await hook.pass(10 * SECOND);
  expect(await hook.state()).toMatchObject({ health: "ok", pending: count });
  return hook;
}

/** Lets an endpoint fail, half a minute after its first failure: so many deliveries, one of them a millisecond before. */
async function failing(count: number): Promise<Hook> {
  const hook = await refusing(count - 1);
  await hook.pass(20 * SECOND - 1);
  await addEvents([90]);
  await hook.run();
  expect(await hook.state()).toMatchObject({ health: "ok" });
  await hook.pass(1);
  expect(await hook.state()).toMatchObject({ health: "failing", pending: count });
  forget();
  return hook;
}

/** Begins a test that the receiver holds, while it refuses all else. Returns what lets it succeed. */
async function beginTest(hook: Hook): Promise<() => Promise<unknown>> {
  const gate = { isOpen: false };
  respond(async ({ type }) => {
    if (type !== "webhook.test") return 500;
    while (!gate.isOpen) await scheduler.wait(1);
    return 204;
  });
  const tested = hook.stub.sendTest(hook.name);
  await vi.waitUntil(() => received.some(({ type }) => type === "webhook.test"), PATIENCE);
  return () => {
    gate.isOpen = true;
    return tested;
  };
}

describe("an endpoint where nothing succeeds", () => {
  // Promise: receivers-that-are-down
  test("is probed after 5 s, 30 s, 1 min, 5 min, and then every 15 min", async () => {
    const hook = await failing(3);
    const begin = Date.now();
    await hook.pass(HOUR);
    const times = received.map(({ at }) => Math.round((at - begin) / SECOND));
    expect(times).toEqual([5, 35, 95, 395, 395 + 900, 395 + 1_800, 395 + 2_700]);
    // Longest ago first.
    expect(versions()[2]).toBe("90:1");
  });

  // Promise: receivers-that-are-down
  test("gets the first attempt of a new event, every five seconds at most", async () => {
    const hook = await failing(3);
    for (let second = 0; second < 20; second++) {
      await addEvents([20 + second]);
      await hook.stub.nudge(hook.name);
      await hook.pass(SECOND);
    }
    const begin = Date.now() - 20 * SECOND;
    // With a probe of one that waits.
    expect(received.map(({ at }) => Math.round((at - begin) / SECOND))).toEqual([5, 5, 10, 15, 20]);
    expect(await hook.state()).toMatchObject({ health: "failing" });
  });

  // Promise: receivers-that-are-down
  test("has probes that count for an event whose time has come, and no others do", async () => {
    const hook = await failing(2);
    // Each delay is up to 10 % longer, and then the event waits for its turn among the probes.
    await hook.leap(24 * HOUR);
    const attempts = (await hook.deliveries()).map((one) => one.attempts);
    // 0, 5 s, 5 min, 30 min, 2, 5 and 10 hours after one another. The next one is 14 hours later.
    expect(attempts).toEqual([7, 7]);
    expect(received.length).toBeGreaterThan(70);
  });

  // Promise: receivers-that-are-down
  test("works again with its first success. Then what failed meanwhile is due, once", async () => {
    const hook = await failing(4);
    await hook.pass(2 * HOUR);
    forget();
    respond(({ resource }) => (resource === 1 ? 500 : 204));
    await addEvents([91]);
    await hook.run();
    expect(await hook.state()).toMatchObject({ health: "ok", pending: 1 });
    expect(versions().toSorted()).toEqual(["1:1", "2:1", "3:1", "90:1", "91:1"]);
    // What only the outage refused is as new: its second attempt comes after five seconds.
    expect((await hook.deliveries())[0]).toMatchObject({ attempts: 1 });
    await hook.pass(4 * SECOND);
    expect(received).toHaveLength(5);
  });

  // Promise: after-an-outage
  test.each<[string, (hook: Hook) => Promise<unknown>]>([
    ["a successful test", (hook) => hook.stub.sendTest(hook.name)],
    ["a new address", (hook) => hook.set("url = ?", "https://hooks.shop.com/new")],
    [
      "enabling",
      async (hook) => {
        await hook.set("enabled = 0");
        await hook.run();
        await hook.set("enabled = 1");
      },
    ],
  ])("works again after %s", async (_name, end) => {
    const hook = await failing(3);
    await hook.pass(10 * MINUTE);
    respond(() => 204);
    await end(hook);
    await hook.pass(SECOND);
    expect(await hook.state()).toMatchObject({ health: "ok", pending: 0 });
  });

  // Promise: after-an-outage
  test("takes what it has refused after a successful test, also before it fails", async () => {
    const hook = await refusing(2);
    respond(() => 204);
    await hook.stub.sendTest(hook.name);
    await hook.pass(SECOND);
    expect(await hook.state()).toMatchObject({ health: "ok", pending: 0 });
  });

  // Promise: after-an-outage
  test("keeps due what one test made due, after a second one", async () => {
    const hook = await refusing(30);
    let deliveries = 0;
    const gate = { isOpen: false };
    respond(async ({ type }) => {
      if (type === "webhook.test") return 204;
      if (++deliveries === 1) return 500;
      while (!gate.isOpen) await scheduler.wait(1);
      return 204;
    });
    await hook.stub.sendTest(hook.name);
    const run = hook.run();
    await vi.waitUntil(() => deliveries > 3, PATIENCE);
    pass(SECOND);
    await hook.stub.sendTest(hook.name);
    gate.isOpen = true;
    await run;
    await hook.pass(10 * SECOND);
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  // Promise: after-an-outage
  test("counts no attempt that a test made due before its time", async () => {
    const hook = await addHook();
    respond(({ type }) => (type === "webhook.test" ? 204 : 500));
    await addEvents([1]);
    await hook.run();
    for (let tests = 0; tests < 12; tests++) {
      await hook.pass(7 * SECOND);
      await hook.stub.sendTest(hook.name);
      await hook.pass(SECOND);
    }
    expect(await hook.deliveries()).toEqual([expect.objectContaining({ status: "pending", attempts: 2 })]);
    expect(received.filter(({ type }) => type !== "webhook.test").length).toBeGreaterThan(10);
  });

  test("learns nothing from a test of an earlier address", async () => {
    const hook = await failing(3);
    const succeed = await beginTest(hook);
    await hook.set("url = ?", "https://hooks.shop.com/new");
    await hook.run();
    await hook.pass(30 * SECOND);
    await addEvents([91]);
    await hook.run();
    expect(await hook.state()).toMatchObject({ health: "failing" });
    await succeed();
    expect(await hook.state()).toMatchObject({ health: "failing" });
  });

  test("learns from a test during which it first reads the database", async () => {
    const hook = await failing(3);
    await evictDurableObject(hook.stub);
    const succeed = await beginTest(hook);
    await hook.run();
    expect(await hook.state()).toMatchObject({ health: "failing" });
    await succeed();
    expect(await hook.state()).toMatchObject({ health: "ok" });
  });

  test("fails still after a test without success, which is no failure of the endpoint either", async () => {
    const hook = await failing(3);
    expect(await hook.stub.sendTest(hook.name)).toEqual({ response: 500, milliseconds: 0 });
    expect(await hook.state()).toMatchObject({ health: "failing" });
    const other = await addHook();
    for (let count = 0; count < 4; count++) {
      await other.stub.sendTest(other.name);
      pass(20 * SECOND);
    }
    expect(await other.state()).toMatchObject({ health: "ok" });
  });
});

// Promise: numbers-of-webhooks
test("at most as many deliveries run at once as the webhook says", async () => {
  const hook = await addHook();
  await hook.set("concurrency = 2");
  respond(async () => {
    await scheduler.wait(2);
    return 204;
  });
  await addEvents(...events(20));
  await hook.run();
  expect(atOnce).toBe(2);
});

describe("the log", () => {
  test("has one line for a run with a failure, without an address", async () => {
    const hook = await addHook();
    respond(() => 500);
    await addEvents(...events(5));
    await hook.run();
    const warnings = lines.filter((line) => line.includes('"warn"'));
    expect(warnings).toHaveLength(1);
    expect(JSON.parse(warnings[0] ?? "")).toEqual({
      level: "warn",
      message: "a delivery did not succeed",
      webhook: hook.name,
      event: expect.stringMatching(/^evt_[0-9a-f]{24}$/),
      response: 500,
      error: null,
      attempts: 1,
    });
    expect(lines.join()).not.toContain("hooks.shop.com");
  });
});

describe("410", () => {
  // Promise: 410-disables
  test("disables the webhook, and keeps the delivery", async () => {
    const { hook } = await hookWith([1], [2]);
    respond(({ resource }) => (resource === 1 ? 410 : 204));
    await hook.run();
    expect(await hook.row()).toMatchObject({ enabled: 0, disabled_reason: "gone", version: 2 });
    expect(await hook.state()).toMatchObject({ pending: 1 });
    expect(await hook.alarm()).toBe(MINUTE);
    await addEvents([3]);
    const count = received.length;
    await hook.run();
    expect(received).toHaveLength(count);
    expect(await hook.alarm()).toBe(MINUTE);
    // Enabled again, it gets all of them.
    respond(() => 204);
    await hook.set("enabled = 1, disabled_reason = NULL");
    await hook.pass(MINUTE);
    expect(versions()).toContain("1:1");
    expect(versions()).toContain("3:1");
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  test("does not disable a webhook that has another address by now", async () => {
    const { hook } = await hookWith([1]);
    respond(async () => {
      await env.DB.prepare("UPDATE webhooks SET url = 'https://hooks.shop.com/new'").run();
      respond(() => 204);
      return 410;
    });
    await hook.run();
    expect(await hook.row()).toMatchObject({ enabled: 1, disabled_reason: null, version: 1 });
    await hook.pass(MINUTE);
    expect(await hook.state()).toMatchObject({ pending: 0 });
    expect(received.at(-1)?.url).toBe("https://hooks.shop.com/new");
  });
});
