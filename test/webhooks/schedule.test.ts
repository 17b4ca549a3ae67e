import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { MAX_PENDING, WAVE } from "../../src/webhooks/engine/endpoint.ts";
import { MAX_ATTEMPTS, nextAttempt, retryAfterOf } from "../../src/webhooks/engine/schedule.ts";
import {
  addEvents,
  addHook,
  events,
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

const DELAYS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)];

describe("the attempts of an event", () => {
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

  test("are ten. Then it failed, a log line says so, and the next event of the resource follows", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const hook = await addHook();
    const [poisoned] = await addEvents([1, 1]);
    respond(({ resource, version }) => (resource === 1 && version === 1 ? 400 : 204));
    const begin = Date.now();
    await hook.run();
    // Another event before each attempt keeps the endpoint healthy.
    for (const delay of DELAYS) {
      await addEvents([9]);
      await hook.run();
      await hook.pass(delay);
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

  test("keep their own webhook-id, and have a timestamp each", async () => {
    const hook = await addHook();
    await addEvents([1]);
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
  test.each([
    [null, 0],
    ["120", 120 * SECOND],
    ["0", 0],
    ["Sun, 22 Nov 2026 08:31:00 GMT", MINUTE],
    ["Sun, 22 Nov 2026 08:29:00 GMT", 0],
    ["soon", 0],
    ["-5", 0],
    ["999999999", 24 * HOUR],
    ["Sun, 22 Nov 2037 08:31:00 GMT", 24 * HOUR],
  ])("%s asks for %i ms", (header, milliseconds) => {
    expect(retryAfterOf(header, now)).toBe(milliseconds);
  });

  test.each([
    [429, 60],
    [503, 60],
    [500, 5],
  ])("of a %i lets the next attempt wait for %i seconds", async (status, seconds) => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const hook = await addHook();
    await addEvents([1]);
    respond(() => new Response(null, { status, headers: { "Retry-After": "60" } }));
    await hook.run();
    await hook.pass(seconds * SECOND - 1);
    expect(received).toHaveLength(1);
    await hook.pass(1);
    expect(received).toHaveLength(2);
  });

  test("does not shorten a delay, and delays the next probe", async () => {
    const hook = await addHook();
    await addEvents(...events(3));
    respond(() => new Response(null, { status: 429, headers: { "Retry-After": "600" } }));
    await hook.run();
    expect(await hook.state()).toMatchObject({ health: "failing" });
    await hook.pass(600 * SECOND - 1);
    expect(received).toHaveLength(3);
    await hook.pass(1);
    expect(received).toHaveLength(4);
  });
});

/** Lets an endpoint fail with so many deliveries. */
async function failing(count: number): Promise<Hook> {
  const hook = await addHook();
  await addEvents(...events(count));
  respond(() => 500);
  await hook.run();
  expect(await hook.state()).toMatchObject({ health: "failing", pending: count });
  return hook;
}

describe("an endpoint that failed three times in a row", () => {
  test("gets no further first attempt in this run", async () => {
    const hook = await addHook();
    await addEvents(...events(50));
    respond(() => 500);
    await hook.run();
    // The third failure, and those that ran beside it.
    expect(received.length).toBeGreaterThanOrEqual(3);
    expect(received.length).toBeLessThanOrEqual(6);
    expect(await hook.state()).toMatchObject({ health: "failing", pending: 50 });
  });

  test("is probed after 5 s, 30 s, 1 min, 5 min, and then every 15 min", async () => {
    const hook = await failing(3);
    const begin = Date.now();
    await hook.pass(HOUR);
    const times = received.slice(3).map(({ at }) => (at - begin) / SECOND);
    expect(times).toEqual([5, 35, 95, 395, 395 + 900, 395 + 1_800, 395 + 2_700]);
  });

  test("gets no attempt because of a change", async () => {
    const hook = await failing(3);
    for (let second = 0; second < 4; second++) {
      await addEvents([20 + second]);
      await hook.run();
      pass(SECOND);
    }
    expect(received).toHaveLength(3);
    expect(await hook.state()).toMatchObject({ pending: 7 });
  });

  test("is probed with the delivery whose last attempt is longest ago, never attempted ones first", async () => {
    const hook = await failing(3);
    await hook.pass(SECOND);
    await addEvents([4], [4, 2], [5]);
    await hook.run();
    await hook.pass(3 * HOUR);
    const probes = versions().slice(3);
    // 4:2 waits for 4:1.
    expect(probes.slice(0, 2)).toEqual(["4:1", "5:1"]);
    expect(probes.slice(2, 7).map((one) => one.split(":")[0])).toEqual(["1", "2", "3", "4", "5"]);
  });

  test("has probes that do not count, and after a success everything is due", async () => {
    const hook = await failing(3);
    await hook.pass(20 * HOUR);
    expect((await hook.deliveries()).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    respond(() => 204);
    await addEvents([4], [4, 2]);
    await hook.pass(15 * MINUTE + 2 * SECOND);
    expect(await hook.state()).toMatchObject({ health: "ok", pending: 0 });
    expect(versions().slice(-5).toSorted()).toEqual(["1:1", "2:1", "3:1", "4:1", "4:2"]);
    expect(versions().at(-5)).toBe("4:1");
  });

  test("gets attempts that were brought forward, which do not count and move no time", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const hook = await addHook();
    // Twice, beside successes, so that the next attempt of its own is in five minutes.
    const [id] = await addEvents([1]);
    respond(({ resource }) => (resource === 1 ? 500 : 204));
    await hook.run();
    await addEvents([2]);
    await hook.pass(5 * SECOND);
    const own = (await hook.deliveries()).find(({ event }) => event === id);
    expect(own).toMatchObject({ attempts: 2 });
    await addEvents([2, 2]);
    await hook.run();
    respond(() => 500);
    await addEvents([3], [4], [5]);
    await hook.pass(SECOND);
    expect(await hook.state()).toMatchObject({ health: "failing" });
    respond(({ resource }) => (resource === 1 ? 500 : 204));
    const count = received.length;
    await hook.pass(40 * SECOND);
    expect(received.slice(count).some((one) => one.id === id)).toBe(true);
    const now = (await hook.deliveries()).find(({ event }) => event === id);
    expect(now).toMatchObject({ attempts: 2, nextAttemptAt: own?.nextAttemptAt });
  });

  test("is not blocked by an event that it always refuses", async () => {
    const hook = await addHook();
    await addEvents(...events(6));
    respond(({ resource }) => (resource <= 3 ? 400 : 204));
    await hook.run();
    await hook.pass(MINUTE);
    await addEvents(...events(20, 10));
    await hook.pass(HOUR);
    for (let resource = 10; resource < 30; resource++) expect(versions()).toContain(`${resource}:1`);
  });

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
  ])("is no longer held after %s", async (_name, end) => {
    const hook = await failing(3);
    await hook.pass(10 * MINUTE);
    respond(() => 204);
    await end(hook);
    await hook.pass(0);
    expect(await hook.state()).toMatchObject({ health: "ok", pending: 0 });
  });

  test("does not wait in its next hold for what the receiver asked in one that ended early", async () => {
    const hook = await addHook();
    await addEvents(...events(3));
    respond(() => new Response(null, { status: 503, headers: { "Retry-After": "86400" } }));
    await hook.run();
    respond(() => 500);
    await hook.set("url = ?", "https://hooks.shop.com/new");
    await hook.run();
    expect(await hook.state()).toMatchObject({ health: "failing" });
    const count = received.length;
    await hook.pass(5 * SECOND);
    expect(received).toHaveLength(count + 1);
  });

  test("is held after a test without success, which is no failure either", async () => {
    const hook = await failing(3);
    expect(await hook.stub.sendTest(hook.name)).toEqual({ response: 500, milliseconds: 0 });
    expect(await hook.state()).toMatchObject({ health: "failing" });
    const other = await addHook();
    for (let count = 0; count < 4; count++) await other.stub.sendTest(other.name);
    expect(await other.state()).toMatchObject({ health: "ok" });
  });

  test("keeps the order of a resource: the hour starts when the hold ends", async () => {
    const hook = await addHook();
    await addEvents([1, 1], [1, 2], [2], [3]);
    respond(() => 500);
    await hook.run();
    await hook.pass(3 * HOUR);
    respond(({ resource, version }) => (resource === 1 && version === 1 ? 500 : 204));
    // A probe of another resource ends the hold.
    await addEvents([8]);
    await hook.pass(16 * MINUTE);
    const ended = received.find(({ resource }) => resource === 8)?.at ?? 0;
    expect(versions()).not.toContain("1:2");
    while (Date.now() < ended + HOUR - 10 * MINUTE) {
      await addEvents([9]);
      await hook.pass(5 * MINUTE);
    }
    expect(versions()).not.toContain("1:2");
    await hook.pass(11 * MINUTE);
    expect(versions()).toContain("1:2");
  });

  test("fills its rows from the feed, up to the last wave", async () => {
    const hook = await failing(4);
    await addEvents(...events(MAX_PENDING, 100));
    const count = received.length;
    await hook.pass(4 * SECOND);
    expect(received).toHaveLength(count);
    await hook.pass(20 * SECOND);
    expect((await hook.state()).pending).toBeGreaterThan(MAX_PENDING - WAVE);
  });

  test("writes one line for a run with a failure, without an address", async () => {
    const hook = await failing(5);
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
  test("disables the webhook, and keeps the delivery", async () => {
    const hook = await addHook();
    await addEvents([1], [2]);
    respond(({ resource }) => (resource === 1 ? 410 : 204));
    await hook.run();
    expect(await hook.row()).toMatchObject({ enabled: 0, disabled_reason: "gone", version: 2 });
    expect(await hook.state()).toMatchObject({ pending: 1 });
    expect(await hook.alarm()).toBeUndefined();
    await addEvents([3]);
    const count = received.length;
    await hook.run();
    expect(received).toHaveLength(count);
    expect(await hook.alarm()).toBeUndefined();
    // Enabled again, it gets all of them.
    respond(() => 204);
    await hook.set("enabled = 1, disabled_reason = NULL");
    await hook.pass(MINUTE);
    expect(versions()).toContain("1:1");
    expect(versions()).toContain("3:1");
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  test("does not disable a webhook that has another address by now", async () => {
    const hook = await addHook();
    await addEvents([1]);
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

  test("to a test disables nothing", async () => {
    const hook = await addHook();
    respond(() => 410);
    expect(await hook.stub.sendTest(hook.name)).toEqual({ response: 410, milliseconds: 0 });
    expect(await hook.row()).toMatchObject({ enabled: 1 });
  });
});
