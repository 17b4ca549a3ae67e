import { env } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { Session } from "../../src/db/session.ts";
import {
  addEvents,
  addHook,
  events,
  forget,
  hookWith,
  type Hook,
  HOUR,
  ids,
  MINUTE,
  type NewEvent,
  pass,
  received,
  respond,
  SECOND,
  useReceiver,
  versions,
} from "./endpoint.ts";

// What could make a webhook stand still, or lose an event, while each step of it is right.

useReceiver();

type Write = (this: Session, ...all: Parameters<Session["writeRepeatably"]>) => Promise<never>;

const GOOD = 6_000;
const PLACE = "SELECT printf('%016x%08x', id, tag) AS place FROM events ORDER BY id DESC LIMIT 1";
const endOfFeed = async () => (await env.DB.prepare(PLACE).first<string>("place")) ?? "";
const attemptsOf = (animal: number) => received.filter(({ resource }) => resource === animal).length;

/** A webhook whose receiver took something a minute ago. */
async function proven(): Promise<Hook> {
  const { hook } = await hookWith([5_000, 1, "pet.created"]);
  await hook.run();
  await hook.pass(MINUTE);
  return hook;
}

test("is enabled for good after its receiver was gone, whatever other attempts said then", async () => {
  const { hook } = await hookWith(...events(6));
  respond(async ({ resource }) => {
    await scheduler.wait(resource === 1 ? 5 : 12);
    return 410;
  });
  await hook.run();
  await expect.poll(() => hook.row()).toMatchObject({ enabled: 0 });
  await hook.pass(HOUR);
  respond(() => 204);
  forget();
  await hook.set("enabled = 1, disabled_reason = NULL");
  await hook.pass(MINUTE);
  expect(received).toHaveLength(6);
  expect(await hook.row()).toMatchObject({ enabled: 1 });
});

/** Runs the alarm, and something else after the database has read what it will answer. */
async function whileItAnswers(hook: Hook, happen: () => Promise<unknown>): Promise<void> {
  const original = Object.getOwnPropertyDescriptor(Session.prototype, "writeRepeatably")?.value as Write;
  const answer = { isRead: false, isThere: false };
  const read = vi.spyOn(Session.prototype, "writeRepeatably").mockImplementation(async function (
    this: Session,
    ...all
  ) {
    const results = await original.apply(this, all);
    answer.isRead = true;
    while (!answer.isThere) await scheduler.wait(1);
    return results;
  });
  const run = runDurableObjectAlarm(hook.stub);
  await expect.poll(() => answer.isRead).toBe(true);
  await happen();
  answer.isThere = true;
  await run;
  read.mockRestore();
}

test("learns what changed while the database answered", async () => {
  const hook = await proven();
  await whileItAnswers(hook, () => hook.set("url = 'https://hooks.shop.com/new'"));
  expect(await hook.rows("SELECT value ->> 'url' AS url FROM state WHERE name = 'progress'")).toEqual([
    { url: "https://hooks.shop.com/new" },
  ]);
});

test("reads again after a nudge that came while a slow database answered", async () => {
  const hook = await proven();
  const sent: string[] = [];
  await whileItAnswers(hook, async () => {
    sent.push(...(await addEvents([1])));
    await hook.stub.nudge(hook.name);
    pass(3 * SECOND);
  });
  await hook.pass(2 * SECOND);
  expect(ids()).toContain(sent[0]);
});

test("forgets what an earlier address asked for, and a type that is removed with it", async () => {
  const { hook } = await hookWith(...events(4), [5, 1, "order.placed"]);
  const answer = { isThere: false };
  respond(async ({ url }) => {
    if (url.endsWith("new")) return 204;
    while (!answer.isThere) await scheduler.wait(1);
    return new Response(null, { status: 429, headers: { "Retry-After": "86400" } });
  });
  const run = hook.run();
  await expect.poll(() => received).toHaveLength(5);
  await addEvents([10]);
  await hook.set("url = 'https://hooks.shop.com/new', types = ?", '["pet.updated"]');
  await expect.poll(() => attemptsOf(10)).toBe(1);
  answer.isThere = true;
  await run;
  await addEvents([11]);
  await hook.run();
  await hook.pass(MINUTE);
  expect([1, 5, 11].map(attemptsOf)).toEqual([2, 1, 1]);
});

test("forgets with an earlier address the pause that it asked for", async () => {
  const { hook } = await hookWith([1]);
  respond(() => new Response(null, { status: 429, headers: { "Retry-After": "86400" } }));
  await hook.run();
  pass(1);
  await hook.set("url = 'https://hooks.shop.com/new'");
  respond(() => 204);
  await addEvents([1, 2]);
  await hook.run();
  await hook.pass(10 * SECOND);
  expect(attemptsOf(1)).toBe(3);
});

// Promise: numbers-of-webhooks
test("attempts a new event soon after a clock that was ahead for a while", async () => {
  const hook = await proven();
  pass(HOUR);
  await hook.stub.nudge(hook.name);
  pass(-HOUR);
  await hook.pass(MINUTE);
  await addEvents([1]);
  await hook.stub.nudge(hook.name);
  await hook.pass(5 * SECOND);
  expect(attemptsOf(1)).toBe(1);
});

// Promise: numbers-of-webhooks
test("ends the order of an animal an hour after its first refusal, also by a clock that was ahead then", async () => {
  const hook = await proven();
  respond(({ resource, version }) => (resource === 1 && version === 1 ? 400 : 204));
  pass(24 * HOUR);
  await addEvents([1]);
  await hook.run();
  pass(-24 * HOUR);
  await hook.run();
  await addEvents([1, 2], [GOOD]);
  await hook.run();
  expect([attemptsOf(1), attemptsOf(GOOD)]).toEqual([2, 1]);
  await hook.pass(HOUR + MINUTE);
  expect(versions()).toContain("1:2");
});

// Promise: delays
test("delays the attempts of a refused event, also when another address came by a clock that was ahead", async () => {
  const hook = await proven();
  respond(({ resource }) => (resource === 1 ? 400 : 204));
  pass(24 * HOUR);
  await hook.set("url = 'https://hooks.shop.com/new'");
  await hook.run();
  pass(-24 * HOUR);
  await addEvents([1]);
  for (let minute = 0; minute < 10; minute++) {
    await addEvents([GOOD]);
    await hook.run();
    await hook.pass(MINUTE);
  }
  expect(attemptsOf(1)).toBeLessThan(8);
});

// Promise: receivers-that-are-down
test("is failing in an outage, also when its last success was by a clock that was ahead", async () => {
  const hook = await addHook();
  pass(24 * HOUR);
  await hook.stub.sendTest(hook.name);
  await addEvents([GOOD]);
  await hook.run();
  pass(-24 * HOUR);
  respond(() => 500);
  await addEvents([1], [2], [3]);
  await hook.run();
  await hook.pass(MINUTE);
  expect(await hook.state()).toMatchObject({ health: "failing" });
});

test("drops with latest what waits at the end of the feed", async () => {
  const hook = await addHook();
  respond(() => 500);
  await addEvents(...events(3));
  await hook.run();
  expect(await hook.stub.skip(hook.name, await endOfFeed())).toMatchObject({ pending: 0 });
});

test("attempts a new event beside a replay that is refused", async () => {
  const hook = await addHook();
  const before = await endOfFeed();
  await addEvents(...events(600));
  await hook.run();
  await hook.pass(MINUTE);
  respond(({ resource }) => (resource === GOOD ? 204 : 400));
  await hook.stub.replay(hook.name, before);
  await hook.pass(0);
  await addEvents([GOOD]);
  await hook.run();
  await hook.pass(10 * SECOND);
  expect(attemptsOf(GOOD)).toBe(1);
  expect((await hook.state()).pending).toBeLessThanOrEqual(500);
});

// Of animal 1, one waits for the event before it. Of animal 2, one waits for the end of a pause. Of animal 3, a replay has many that are
// not attempted when the hour of their order ends.
test("attempts a new event soon while it fails, whatever else waits", async () => {
  const hook = await addHook();
  const before = await endOfFeed();
  await addEvents(...events(40).map(([version]): NewEvent => [3, version]));
  await hook.run();
  await hook.pass(MINUTE);
  const pause = { status: 429, headers: { "Retry-After": "86400" } };
  respond(({ resource }) => (resource === GOOD ? 204 : resource === 2 ? new Response(null, pause) : 400));
  await addEvents([2], [2, 2]);
  await hook.stub.replay(hook.name, before);
  await hook.pass(40 * MINUTE);
  await addEvents([1], [1, 2]);
  await hook.run();
  await hook.pass(20 * MINUTE + 20 * SECOND);
  expect(await hook.state()).toMatchObject({ health: "failing" });
  await addEvents([GOOD]);
  await hook.run();
  await hook.pass(30 * SECOND);
  expect(attemptsOf(GOOD)).toBe(1);
});

test("reads what came while a look read nothing, because an event waited that was not attempted", async () => {
  const { hook } = await hookWith([1]);
  respond(() => 500);
  await hook.run();
  await hook.pass(10 * MINUTE);
  // The last of them waits for the first event of its animal, once the next new event may be attempted.
  await addEvents([2], [1, 2]);
  await hook.run();
  expect(attemptsOf(2)).toBe(1);
  await addEvents([GOOD]);
  await hook.stub.nudge(hook.name);
  await hook.pass(10 * SECOND);
  expect(attemptsOf(GOOD)).toBe(1);
});

// Promise: half-of-the-places
test("attempts a new event at once, whatever hangs that an outage refused", async () => {
  const { hook } = await hookWith(...events(12));
  respond(() => 500);
  await hook.run();
  await hook.pass(10 * MINUTE);
  expect(await hook.state()).toMatchObject({ health: "failing", pending: 12 });
  const hanging = Promise.withResolvers<number>();
  respond(({ type, resource }) => (type === "webhook.test" || resource === GOOD ? 204 : hanging.promise));
  await hook.stub.sendTest(hook.name);
  forget();
  const run = hook.run();
  await expect.poll(() => received).toHaveLength(5);
  await addEvents([GOOD]);
  await hook.stub.nudge(hook.name);
  await expect.poll(() => attemptsOf(GOOD)).toBe(1);
  hanging.resolve(500);
  await run;
});

// Promise: replays-run-beside
test("attempts nothing of a replay while it fails and others wait, and few of it alone", async () => {
  const hook = await addHook();
  const before = await endOfFeed();
  await addEvents(...events(40, 100));
  await hook.run();
  respond(() => 500);
  await addEvents([1]);
  await hook.run();
  await hook.pass(MINUTE);
  forget();
  await hook.stub.replay(hook.name, before);
  await hook.pass(10 * MINUTE);
  expect(new Set(ids()).size).toBe(1);
  await hook.stub.stopReplay(hook.name);
  await hook.stub.skip(hook.name, await endOfFeed());
  await hook.stub.replay(hook.name, before);
  await hook.pass(10 * MINUTE);
  expect(new Set(ids()).size).toBe(17);
});

test("goes on with a replay whose place the feed forgets", { timeout: 60_000 }, async () => {
  const hook = await addHook();
  const before = await endOfFeed();
  const sent = await addEvents(...events(5_600));
  await hook.set("types = ?", '["order.placed"]');
  await hook.pass(MINUTE);
  await hook.set("types = ?", '["pet.updated"]');
  await hook.pass(MINUTE);
  await hook.stub.replay(hook.name, before);
  await hook.set("enabled = 0");
  await hook.pass(0);
  forget();
  await env.DB.prepare("DELETE FROM events WHERE printf('evt_%016x%08x', id, tag) <= ?").bind(sent[5_299]).run();
  await hook.set("enabled = 1");
  await hook.pass(MINUTE);
  expect(received).toHaveLength(300);
  expect(await hook.state()).not.toHaveProperty("replay");
});

// 429 is of the class of those that blame the request, and blames the moment.
test.each([429, 500])("gives nothing up in an outage that answers %i", async (status) => {
  const hook = await proven();
  respond(() => status);
  await addEvents(...events(12));
  await hook.run();
  // Half as many probes as there would be.
  await hook.leap(5 * 24 * HOUR, 15 * MINUTE);
  respond(() => 204);
  forget();
  await hook.stub.sendTest(hook.name);
  await hook.pass(MINUTE);
  expect(new Set(ids()).size).toBe(13);
});

// Promise: room-for-a-thousand
test("gives nothing up after a test", { timeout: 60_000 }, async () => {
  const hook = await proven();
  respond(() => 500);
  const sent = await addEvents(...events(1_000));
  await hook.run();
  await hook.pass(7 * SECOND);
  // Of the same animals: each waits for the event before.
  sent.push(...(await addEvents(...events(1_000).map(([id]): [number, number] => [id, 2]))));
  await hook.run();
  respond(() => 204);
  forget();
  await hook.stub.sendTest(hook.name);
  await hook.pass(20 * MINUTE);
  expect(new Set(ids())).toEqual(new Set([...sent, expect.stringContaining("msg_")]));
});

test("has an alarm from its first call on", async () => {
  const hook = await addHook({ isNew: true });
  await hook.stub.secret(hook.name);
  expect(await hook.alarm()).toBeGreaterThan(0);
});

test("has an alarm within a minute of a nudge, also when it lost one while it fails", async () => {
  const { hook } = await hookWith([1]);
  respond(() => 500);
  await hook.run();
  await hook.pass(10 * MINUTE);
  await addEvents([2], [3]);
  await hook.run();
  expect(await hook.state()).toMatchObject({ health: "failing" });
  await runInDurableObject(hook.stub, (_object, { storage }) => storage.deleteAlarm());
  await hook.stub.nudge(hook.name);
  expect(await hook.alarm()).toBeLessThanOrEqual(MINUTE);
});
