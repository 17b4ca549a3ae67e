import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { forgetOld } from "../../src/jobs/purge.ts";
import { decodeEventCursor, encodeEventCursor } from "../../src/feed/place.ts";
import { sign } from "../../src/webhooks/engine/signing.ts";
import { BOOKMARK } from "../../src/http/open-session.ts";
import { latest } from "../events/feed.ts";
import { grantKey } from "../support/keys.ts";
import {
  addEvents,
  addHook,
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

/** Restores the database to before the newest events, as many as given. */
const forgetNewest = (count: number) =>
  env.DB.prepare("DELETE FROM events WHERE id > (SELECT max(id) - ? FROM events)").bind(count).run();

const resets = () => received.filter(({ type }) => type === "feed.reset");
const placeOf = async (hook: Hook) => decodeEventCursor((await hook.state()).cursor)?.text;

describe("a feed that lost the place", () => {
  // Promise: resets
  // A restore uses the id of the place again, with another tag.
  test("sends one feed.reset, with the present end and a bookmark", async () => {
    const { hook } = await hookWith(...events(5));
    await hook.run();
    await forgetNewest(3);
    await addEvents(...events(10, 50));
    await hook.run();
    expect(resets()).toHaveLength(1);
    const [{ id, body } = expect.unreachable()] = resets();
    expect(id).toMatch(/^msg_[0-9A-Za-z_-]{22}$/);
    const { data, ...rest } = JSON.parse(body);
    expect(rest).toEqual({ id, type: "feed.reset", timestamp: new Date().toISOString() });
    expect(data).toEqual({ cursor: await latest(await grantKey()), bookmark: expect.stringMatching(BOOKMARK) });
    expect(await hook.state()).toMatchObject({ resets: 1, pending: 0 });
    // The events before the present end are in the list that the receiver makes.
    await hook.pass(5 * MINUTE);
    expect(received).toHaveLength(6);
    const [next] = await addEvents([99]);
    await hook.run();
    expect(ids().at(-1)).toBe(next);
  });

  test("sends the feed.reset after the attempts of the history that is gone", async () => {
    const { hook } = await hookWith(...events(3));
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const ends: string[] = [];
    respond(async ({ type, resource }) => {
      if (resource === 1) await answered;
      ends.push(`${type} ${resource}`);
      return 204;
    });
    const run = hook.run();
    await expect.poll(() => ends).toHaveLength(2);
    await forgetNewest(3);
    await addEvents([4]);
    await hook.stub.nudge(hook.name);
    pass(2 * SECOND);
    await hook.stub.changed(hook.name);
    await expect.poll(() => hook.state()).toMatchObject({ resets: 1 });
    answer();
    await run;
    await hook.pass(MINUTE);
    expect(ends.slice(2).map((end) => end.split(" ")[0])).toEqual(["pet.updated", "feed.reset"]);
  });

  test("is noticed after a crash of a webhook that was disabled beside an attempt that hangs", async () => {
    const { hook } = await hookWith([1], [2], [3]);
    respond(({ resource }) => (resource === 1 ? new Promise(() => {}) : 204));
    const run = hook.run();
    await expect.poll(() => received).toHaveLength(3);
    await hook.set("enabled = 0");
    await run;
    await abortAllDurableObjects();
    await forgetNewest(2);
    respond(() => 204);
    await hook.set("enabled = 1");
    await hook.run();
    expect(resets()).toHaveLength(1);
  });

  test.each([
    ["what came behind it", [1], false],
    ["an event whose attempt ran", [1, 3], false],
    ["an event that a skip would pass", [1], true],
  ])("is noticed after a crash beside an attempt that hangs, when only %s is gone", async (_what, open, isSkipped) => {
    const { hook } = await hookWith(...events(3));
    respond(({ resource }) => (open.includes(resource) ? new Promise(() => {}) : 204));
    void hook.run().catch(() => {});
    await expect.poll(() => received).toHaveLength(3);
    // It records what it knows.
    await hook.deliveries();
    await abortAllDurableObjects();
    await forgetNewest(1);
    respond(() => 204);
    const [next = ""] = await addEvents([4]);
    if (isSkipped) await hook.stub.skip(hook.name, next.slice(4));
    await hook.run();
    expect(resets()).toHaveLength(1);
  });

  test("is noticed after a replay too, when only the highest place is gone", async () => {
    const hook = await addHook();
    const before = (await placeOf(hook)) ?? "";
    await addEvents(...events(5));
    await hook.run();
    await forgetNewest(2);
    respond(() => 500);
    await hook.replay(before);
    await hook.pass(0);
    expect(resets()).toHaveLength(1);
  });

  test("is noticed after a replay from the present end, which the object never read", async () => {
    const { hook } = await hookWith(...events(5));
    await hook.run();
    await forgetNewest(2);
    const sent = await addEvents(...events(10, 50));
    await hook.stub.skip(hook.name, (sent.at(-1) ?? "").slice(4));
    await hook.pass(0);
    expect(resets()).toHaveLength(1);
    expect(await hook.state()).toMatchObject({ resets: 1 });
  });

  test("is not a place before the one that a replay went to, when the feed no longer has it", async () => {
    const { hook } = await hookWith(...events(5));
    await hook.run();
    const sent = await addEvents(...events(5));
    await hook.stub.skip(hook.name, (sent.at(-1) ?? "").slice(4));
    await hook.pass(0);
    await env.DB.exec("UPDATE events SET created_at = '2020-01-01T00:00:00.000Z'");
    await forgetOld(env.DB, "7");
    await hook.run();
    expect(resets()).toHaveLength(0);
  });

  test("drops what was pending, and a second loss replaces the message that still waits", async () => {
    const { hook } = await hookWith(...events(3));
    respond(() => 500);
    await hook.run();
    await forgetNewest(1);
    await hook.run();
    expect(await hook.state()).toMatchObject({ pending: 1, resets: 1 });
    const [first] = await hook.rows("SELECT key FROM pending");
    await addEvents([4]);
    await hook.run();
    await forgetNewest(2);
    await hook.run();
    expect(await hook.state()).toMatchObject({ pending: 1, resets: 2 });
    expect(await hook.rows("SELECT key FROM pending")).not.toEqual([first]);
    respond(() => 204);
    await hook.pass(HOUR);
    expect(await hook.state()).toMatchObject({ pending: 0, health: "ok" });
  });

  // Promise: latest-skips
  test("is told after a skip, too", async () => {
    const { hook } = await hookWith(...events(3));
    await hook.run();
    await forgetNewest(1);
    respond(() => 500);
    await hook.run();
    const [sent = ""] = await addEvents([4]);
    await hook.stub.skip(hook.name, sent.slice(4));
    respond(() => 204);
    await hook.pass(HOUR);
    expect(new Set(resets().map(({ id }) => id)).size).toBe(1);
    expect(resets().length).toBeGreaterThan(1);
    expect(await hook.state()).toMatchObject({ pending: 0, health: "ok" });
  });

  // Promise: resets
  test("lets no other delivery start before the message, for an hour at most", async () => {
    const { hook } = await hookWith([1]);
    await hook.run();
    await forgetNewest(1);
    respond(({ type }) => (type === "feed.reset" ? 500 : 204));
    await hook.run();
    await addEvents([2], [3]);
    await hook.pass(HOUR - SECOND);
    expect(versions().filter((one) => one === "2:1")).toEqual([]);
    await hook.pass(16 * MINUTE);
    expect(versions()).toContain("2:1");
    expect(versions()).toContain("3:1");
    expect(await hook.state()).toMatchObject({ pending: 1 });
    respond(() => 204);
    await hook.leap(9 * HOUR);
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  // Promise: resets
  test("because its events are too old: a webhook that was disabled for long", async () => {
    const hook = await addHook();
    await hook.run();
    await hook.set("enabled = 0");
    await hook.run();
    await addEvents(...events(3));
    await env.DB.exec("UPDATE events SET created_at = '2020-01-01T00:00:00.000Z'");
    await forgetOld(env.DB, "7");
    await hook.set("enabled = 1");
    await hook.run();
    expect(received.map(({ type }) => type)).toEqual(["feed.reset"]);
  });

  // Promise: enabled-webhooks-go-on
  test("within its time, a webhook that was disabled gets every event", async () => {
    const hook = await addHook();
    await hook.run();
    await hook.set("enabled = 0");
    await hook.run();
    const sent = await addEvents(...events(120));
    await hook.pass(3 * HOUR);
    expect(received).toHaveLength(0);
    await hook.set("enabled = 1");
    await hook.pass(3 * SECOND);
    expect(ids()).toEqual(sent);
  });
});

describe("a replay", () => {
  const isReplay = ({ replay }: { replay?: true }) => replay === true;

  // Promise: replays, replays-run-beside, webhook-id
  test("delivers the events after a place again, up to the place of the webhook, which does not move", async () => {
    const { hook, sent } = await hookWith(...events(5));
    await hook.run();
    const place = await placeOf(hook);
    forget();
    const state = await hook.replay((sent[1] ?? "").slice(4));
    expect(state).toMatchObject({ pending: 0, replay: { end: encodeEventCursor(place ?? "") } });
    const [later] = await addEvents([6]);
    await hook.run();
    expect(ids().toSorted()).toEqual([...sent.slice(2), later]);
    const after = await hook.state();
    expect(after).not.toHaveProperty("replay");
    expect(after.cursor).toBe(encodeEventCursor((later ?? "").slice(4)));
    const deliveries = await hook.deliveries();
    expect(deliveries.filter(isReplay).map(({ event }) => event)).toEqual(sent.slice(2).toReversed());
  });

  // Promise: replays-run-beside
  test("leaves out what waits anyway, and has an order of its own", async () => {
    const hook = await addHook();
    const before = (await placeOf(hook)) ?? "";
    const [first, second, third] = await addEvents([1, 1], [2, 1], [1, 2]);
    respond(({ resource }) => (resource === 2 ? 500 : 204));
    await hook.run();
    forget();
    let refusals = 1;
    respond(({ id }) => (id === first && refusals-- > 0 ? 500 : 204));
    await hook.replay(before);
    await hook.pass(SECOND);
    // The third waits for the first, and the second is no part of the replay.
    expect(ids()).toEqual([first]);
    expect((await hook.deliveries()).filter(({ status }) => status === "pending").map(isReplay)).toEqual([
      true,
      false,
      true,
    ]);
    await hook.pass(10 * SECOND);
    expect(new Set(ids())).toEqual(new Set([first, second, third]));
    expect(ids().indexOf(third ?? "")).toBeGreaterThan(ids().lastIndexOf(first ?? ""));
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  test("starts an object that never started", async () => {
    const hook = await addHook({ isNew: true });
    const sent = await addEvents(...events(3));
    await hook.replay((sent[1] ?? "").slice(4));
    await hook.pass(0);
    expect(ids()).toEqual(sent);
  });

  // Promise: one-replay
  test("runs once at a time, until it is stopped", async () => {
    const hook = await addHook();
    const before = (await placeOf(hook)) ?? "";
    const sent = await addEvents(...events(3));
    await hook.run();
    forget();
    await hook.replay(before);
    expect(await hook.replay(before)).toBe("replay_running");
    expect(await hook.stub.skip(hook.name, (sent[2] ?? "").slice(4))).toBe("replay_running");
    await hook.stub.stopReplay(hook.name);
    await hook.stub.stopReplay(hook.name);
    await hook.pass(MINUTE);
    expect(received).toHaveLength(0);
    expect(await hook.state()).toMatchObject({ cursor: encodeEventCursor((sent[2] ?? "").slice(4)) });
    await hook.replay(before);
    await hook.pass(0);
    expect(ids()).toEqual(sent);
  });

  test("that is stopped takes its deliveries along that wait", async () => {
    const hook = await addHook();
    const before = (await placeOf(hook)) ?? "";
    await addEvents(...events(3));
    await hook.run();
    await hook.replay(before);
    respond(() => 500);
    await hook.pass(0);
    expect(await hook.state()).toMatchObject({ pending: 3 });
    await hook.stub.stopReplay(hook.name);
    expect(await hook.state()).toMatchObject({ pending: 0 });
    expect(await hook.rows("SELECT * FROM replaying")).toEqual([]);
  });

  test("does not start what a jump has overtaken, and records what was delivered", async () => {
    const { hook, sent } = await hookWith(...events(3));
    const end = (sent[2] ?? "").slice(4);
    let isFirst = true;
    respond(async ({ resource }) => {
      if (!isFirst || resource !== 1) return 204;
      isFirst = false;
      await hook.stub.skip(hook.name, end);
      return 500;
    });
    await hook.run();
    expect(await placeOf(hook)).toBe(end);
    expect(await hook.state()).toMatchObject({ pending: 0 });
    expect((await hook.deliveries()).map(({ status }) => status)).not.toContain("pending");
  });
});

describe("a webhook that was deleted", () => {
  const remove = async (hook: Hook) => {
    const row = await hook.row();
    await env.DB.prepare("DELETE FROM webhooks WHERE id || '-' || tag = ?").bind(hook.name).run();
    await hook.stub.changed(hook.name);
    return row ?? {};
  };
  const restore = (row: object) => {
    const names = Object.keys(row);
    const statement = env.DB.prepare(`INSERT INTO webhooks (${names.join()}) VALUES (${names.map(() => "?").join()})`);
    return statement.bind(...Object.values(row)).run();
  };

  test("stops, and goes on with its place and its secret when a restore brings its row back", async () => {
    const { hook } = await hookWith([1]);
    await hook.run();
    const secret = await hook.stub.secret(hook.name);
    // It fails, and an event waits that may start: it would read nothing.
    respond(() => 500);
    const missed = await addEvents([3], [3, 2]);
    await hook.run();
    const row = await remove(hook);
    missed.push(...(await addEvents([2])));
    await hook.pass(30 * 24 * HOUR);
    expect(received).toHaveLength(2);
    await restore(row);
    respond(() => 204);
    await hook.stub.nudge(hook.name);
    await hook.pass(2 * MINUTE);
    expect(new Set(ids().slice(2))).toEqual(new Set(missed));
    expect(await hook.stub.secret(hook.name)).toBe(secret);
    // It no longer waits for its end.
    vi.setSystemTime(Date.now() + 3 * 24 * HOUR);
    await hook.run();
    expect(await hook.stub.secret(hook.name)).toBe(secret);
  });

  // Promise: what-is-dropped
  test("gets no attempt that starts after the deletion", async () => {
    const hook = await addHook();
    await hook.set("concurrency = 1");
    await addEvents(...events(40));
    let before = Infinity;
    respond(async ({ resource }) => {
      if (resource !== 3) return 204;
      await remove(hook);
      before = received.length;
      return 204;
    });
    await hook.run();
    await hook.pass(HOUR);
    expect(received.length).toBe(before);
    expect(before).toBe(3);
  });
});

describe("the secret", () => {
  test("is random, and made when it is first needed", async () => {
    const [one, other] = [await addHook(), await addHook()];
    const secret = await one.stub.secret(one.name);
    expect(secret).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/);
    expect(await one.stub.secret(one.name)).toBe(secret);
    await evictDurableObject(one.stub);
    expect(await one.stub.secret(one.name)).toBe(secret);
    expect(await other.stub.secret(other.name)).not.toBe(secret);
  });

  // Promise: rotations
  test("that was rotated signs beside the new one for 24 hours", async () => {
    const hook = await addHook();
    const first = await hook.stub.secret(hook.name);
    const second = await hook.stub.rotate(hook.name);
    expect(await hook.stub.secret(hook.name)).toBe(second);
    const signatureOf = async (secrets: string[]) => {
      await hook.stub.sendTest(hook.name);
      const { init, id, body, at } = received.at(-1) ?? expect.unreachable();
      const expected = await sign(secrets, id, Math.floor(at / 1_000), body);
      return [new Headers(init.headers).get("webhook-signature"), expected];
    };
    const [both, expectedBoth] = await signatureOf([second, first]);
    expect(both).toBe(expectedBoth);
    expect(both).toMatch(/^v1,\S{44} v1,\S{44}$/);
    const third = await hook.stub.rotate(hook.name);
    const [newer, expectedNewer] = await signatureOf([third, second]);
    expect(newer).toBe(expectedNewer);
    vi.setSystemTime(Date.now() + 24 * HOUR);
    const [alone, expectedAlone] = await signatureOf([third]);
    expect(alone).toBe(expectedAlone);
  });

  test("that is made while deliveries run signs those that start later", async () => {
    const { hook } = await hookWith([1, 1], [1, 2]);
    respond(async ({ version }) => {
      if (version === 1) await hook.stub.rotate(hook.name);
      return 204;
    });
    await hook.run();
    const signatures = received.map(({ init }) => new Headers(init.headers).get("webhook-signature")?.split(" "));
    expect(signatures.map((each) => each?.length)).toEqual([1, 2]);
  });
});

describe("a run that fails", () => {
  test("because of the database throws nothing, and comes again after five seconds", async () => {
    const hook = await addHook();
    await hook.run();
    await addEvents([1]);
    await env.DB.exec("ALTER TABLE events RENAME TO lost");
    await hook.run();
    await env.DB.exec("ALTER TABLE lost RENAME TO events");
    expect(received).toHaveLength(0);
    expect(await hook.alarm()).toBe(5 * SECOND);
    const errors = lines.filter((line) => line.includes('"level":"error"')).map((line) => JSON.parse(line) as object);
    expect(errors).toEqual([
      expect.objectContaining({ webhook: hook.name, statements: "webhookEngine.configuration,webhookEngine.wanted" }),
    ]);
    await hook.pass(5 * SECOND);
    expect(received).toHaveLength(1);
  });

  test("while it records keeps what it knows, and records it later", async () => {
    const hook = await addHook();
    await hook.run();
    await hook.pass(MINUTE);
    const sent = await addEvents(...events(3));
    await runInDurableObject(hook.stub, async (object, { storage }) => {
      const { sql } = storage;
      const original = sql.exec.bind(sql);
      const exec = vi.spyOn(sql, "exec").mockImplementation((...args: Parameters<SqlStorage["exec"]>) => {
        if (args[0].startsWith("REPLACE INTO state")) throw new Error("disk is full");
        return original(...args);
      });
      await object.alarm();
      exec.mockRestore();
    });
    expect(lines.join()).toContain("disk is full");
    expect(await hook.alarm()).toBe(5 * SECOND);
    await hook.run();
    expect(ids()).toEqual(sent);
    expect((await hook.deliveries()).map(({ event }) => event)).toEqual(sent.toReversed());
  });
});
