import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { encodeEventCursor } from "../../src/feed/place.ts";
import { LIMITS } from "../../src/live/listeners.ts";
import { Registration } from "../../src/live/registration.ts";
import { State } from "../../src/live/state.ts";
import { forgetEnabled } from "../../src/webhooks/nudge.ts";
import { call, create, expectError, idOf } from "../support/client.ts";
import { grantKey, grantToken, key, storeKey } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { connect, Listener, send } from "./listener.ts";

const LIVE = "/v1/events/live";
const REX = { name: "Rex", categoryId: 1 };
const HOUR = 3_600_000;
const HUB = "live:0";
const hub = (name = HUB) => env.WEBHOOKS.getByName(name);
const check = (name = HUB) => runDurableObjectAlarm(hub(name));
const rows = async () => (await env.DB.prepare("SELECT name FROM live_hubs").all<{ name: string }>()).results;
const EVENT = `INSERT INTO events (tag, type, version, data, created_at)
  VALUES (1, 'pet.created', 1, '{"id":77,"name":"Rex","categoryId":1}', '2026-01-01T00:00:00.000Z')`;
/** So many events of 2 KB. */
const add = (count: number) =>
  env.DB.prepare(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
     INSERT INTO events (tag, type, version, data, created_at)
     SELECT random() & 4294967295, 'category.updated', 1, json_object('id', n, 'name', 'x', 'description', ?), '2026-01-01T00:00:00.000Z' FROM n`,
  )
    .bind(count, "x".repeat(2_000))
    .run();
const open: Listener[] = [];
const listen = async (options: Parameters<typeof connect>[0]) => {
  const listener = await connect(options);
  open.push(listener);
  return listener;
};
const listening = async (options: Parameters<typeof connect>[0]) => (await listen(options)).started();
const order = async (body: object, method = "POST", path = "/v1/store/orders") =>
  (await call(path, { key, method, body })).json<{ id: number }>();

let lines: string[] = [];
beforeEach(() => {
  // This isolate reads the names of the hubs again.
  forgetEnabled();
  lines = [];
  for (const method of ["log", "error", "warn"] as const)
    vi.spyOn(console, method).mockImplementation((line) => void lines.push(String(line)));
});
afterEach(async () => {
  for (const { socket, closed } of open.splice(0)) if (closed === undefined) socket.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** The hub ends, and has what it kept. Until the isolates know it, it looks by itself, and is not evicted. */
async function evict(): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  await check();
  await evictDurableObject(hub());
  vi.useRealTimers();
}

/** No hub has a listener, and each knows it. */
async function left(): Promise<void> {
  const checked = async () => {
    for (const { name } of await rows()) await check(name);
    return rows();
  };
  await expect.poll(checked).toEqual([]);
}

describe("a socket", () => {
  // Promise: live-first-page, live-pages
  test("gets the present place at once, and then each change", async () => {
    const one = await listening({ key });
    expect(one.pages).toEqual([
      { events: [], cursor: expect.stringMatching(/^[0-9a-f]{32}$/), more: false, bookmark: expect.any(String) },
    ]);
    const id = idOf(await create("/v1/pets", REX));
    const category = idOf(await create("/v1/categories", { name: "Dogs" }));
    expect(await one.heard(2)).toEqual([`pet.created ${id}`, `category.created ${category}`]);
    const feed = await (await call(`/v1/events?cursor=${one.pages[0]?.cursor}`, { key })).json<object>();
    expect({ events: one.events, cursor: one.cursor, more: false }).toEqual(feed);
    const long = { ...REX, name: "\u91D1".repeat(100) };
    await create(
      "/v1/pets/batch",
      Array.from({ length: 100 }, () => long),
    );
    await one.heard(102);
    // Some libraries refuse larger messages (docs/languages.md).
    expect(Math.max(...one.texts.map((text) => new TextEncoder().encode(text).length))).toBeLessThan(32_768);
  });

  // Promise: live-cursors
  test("goes on from a cursor, without a gap and without a double", async () => {
    const { cursor } = await listening({ key });
    for (const name of ["a", "b", "c"]) await create("/v1/pets", { ...REX, name });
    const one = await listening({ key, query: `cursor=${cursor}` });
    expect(await one.heard(3)).toHaveLength(3);
    const two = await listening({ key, query: `cursor=${one.cursor}&type=pet.deleted` });
    await create("/v1/pets", REX);
    await one.heard(4);
    // The hub that wakes up remembers nothing.
    await evict();
    const three = await listening({ key, query: `cursor=${cursor}` });
    expect(three.events).toEqual(one.events);
    await create("/v1/pets", REX);
    expect((await three.heard(5)).length).toBe(5);
    await one.heard(5);
    expect(one.events).toEqual(three.events);
    expect(two.events).toEqual([]);
  });

  // Promise: live-answers-ping
  test("has pong for ping, and is closed after ten other messages, or a long one", async () => {
    const [one, two] = [await listening({ key }), await listening({ key })];
    one.socket.send("ping");
    await expect.poll(() => one.texts).toContain("pong");
    for (let count = 0; count < 10; count++) one.socket.send(count % 2 === 0 ? "hello" : new Uint8Array(5));
    one.socket.send("ping");
    await expect.poll(() => one.texts.filter((text) => text === "pong")).toHaveLength(2);
    expect(one.closed).toBeUndefined();
    one.socket.send("");
    two.socket.send("x".repeat(1_025));
    expect(await one.end()).toMatchObject({ code: 1008 });
    expect(await two.end()).toMatchObject({ code: 1008 });
  });

  test.each([
    [4001, 4001],
    [undefined, 1000],
  ])("that the client closes with %s is closed with %d at once", async (code, answer) => {
    const one = await listening({ key });
    one.socket.close(code);
    expect(await one.end()).toMatchObject({ code: answer });
  });

  test("hears of a change right after one that came before it", async () => {
    const first = await listening({ key });
    await create("/v1/pets", REX);
    await first.heard(1);
    first.socket.close();
    await first.end();
    await create("/v1/pets", REX);
    // Within 100 milliseconds, the isolate leaves out the nudge.
    const one = await listening({ key });
    const id = idOf(await create("/v1/pets", REX));
    await expect.poll(() => one.events.map(({ data }) => data)).toContainEqual(expect.objectContaining({ id }));
  });

  test("that has sent a ping, and none for 150 seconds, is gone", async () => {
    const [one, two] = [await listening({ key }), await listening({ key })];
    one.socket.send("ping");
    await expect.poll(() => one.texts).toContain("pong");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 151_000 });
    await check();
    expect(await one.end()).toEqual({ code: 4408, reason: "request_timeout" });
    expect(two.closed).toBeUndefined();
  });

  // Promise: live-renews
  test("comes back after the bytes that it got itself, which a hibernation does not forget", async () => {
    // Half of them, by chance, are left out.
    vi.spyOn(Math, "random").mockReturnValueOnce(0).mockReturnValueOnce(0.99).mockReturnValueOnce(0.99);
    const [one, early, quiet] = [
      await listening({ key }),
      await listening({ key }),
      await listening({ key, query: "type=pet.created" }),
    ];
    await add(1_000);
    await check();
    await one.heard(1_000);
    // Version 1.4 keeps no share.
    await runInDurableObject(hub(), (_, state) => {
      for (const socket of state.getWebSockets()) {
        const kept = socket.deserializeAttachment() as unknown[];
        if (kept[3] === 1) socket.serializeAttachment(kept.slice(0, 3));
      }
    });
    await evict();
    expect(one.closed).toBeUndefined();
    await add(1_000);
    await check();
    for (const [listener, share] of [
      [one, 1],
      [early, 0.505],
    ] as const) {
      expect(await listener.end()).toMatchObject({ code: 1008 });
      const bytes = listener.texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
      expect(bytes / LIMITS.key.each).toBeGreaterThan(share);
      expect(bytes / LIMITS.key.each).toBeLessThan(share + 0.02);
      expect(Math.max(...listener.pages.map(({ events }) => events.length))).toBeLessThan(32);
    }
    expect(quiet.closed).toBeUndefined();
  });

  test("of a customer comes back sooner, and gets what it missed in parts", async () => {
    const protocols = `petstore.live.v1, ${await grantToken(key)}`;
    const [all, first] = [await listening({ key }), await listening({ protocols })];
    await add(500);
    await check();
    await all.heard(500);
    const events: unknown[] = [];
    let turns = 0;
    for (let one = first; turns < 20; turns++) {
      if (turns > 0) one = await listening({ protocols, query: `cursor=${one.cursor}` });
      // The last of them stays.
      await expect.poll(() => one.closed ?? one.cursor === all.cursor).toBeTruthy();
      events.push(...one.events);
      if (one.closed === undefined) break;
      expect(one.texts.join().length).toBeLessThan(1.3 * LIMITS.customer.each);
    }
    expect(events).toEqual(all.events);
    expect(turns).toBeGreaterThan(3);
  });
});

describe("what a listener may see", () => {
  // Promise: live-rights
  test("is what the scopes of its key allow, and the types that it names", async () => {
    const [pets, orders] = await Promise.all(
      (["pets:read", "store:read"] as const).map((scope) => grantKey({ scopes: ["events:read", scope] })),
    );
    const all = await listening({ key });
    const of = { pets: await listening({ key: pets ?? "" }), orders: await listening({ key: orders ?? "" }) };
    const created = await listening({ key, query: "type=pet.created" });
    const pet = idOf(await create("/v1/pets", REX));
    const { id } = await order({ petId: pet });
    expect(await all.heard(3)).toEqual([`pet.created ${pet}`, `order.placed ${id}`, `pet.updated ${pet}`]);
    expect(await of.pets.heard(2)).toEqual([`pet.created ${pet}`, `pet.updated ${pet}`]);
    expect(await of.orders.heard(1)).toEqual([`order.placed ${id}`]);
    expect(await created.heard(1)).toEqual([`pet.created ${pet}`]);
    for (const [apiKey, query] of [
      [pets, "type=order.placed"],
      [orders, "type=order.placed&type=pet.created"],
      [await grantKey({ scopes: ["pets:read"] }), ""],
      [await grantToken(key), "type=order.placed"].with(0, await grantToken(key, { scopes: ["pets:read"] })),
    ] as [string, string][])
      await expectError(await call(`${LIVE}?${query}`, { key: apiKey }), "insufficient_scope");
  });

  // Promise: live-orders-of-others
  test("of a customer are the animals and the own orders, whoever had them before and has them later", async () => {
    const [ada, bo] = await Promise.all(["ada", "bo"].map(async (customer) => grantToken(key, { customer })));
    const shown = "petstore.live.v1, ";
    const [first, a, b] = [
      await listening({ key }),
      await listening({ protocols: shown + ada }),
      await listening({ protocols: shown + bo, query: "type=order.placed&type=order.updated" }),
    ];
    expect(a.protocol).toBe("petstore.live.v1");
    const pet = idOf(await create("/v1/pets", REX));
    const { id } = await order({ petId: pet, customer: "ada" });
    const path = `/v1/store/orders/${id}`;
    await order({ customer: "bo" }, "PATCH", path);
    await order({ reference: "secret of bo" }, "PATCH", path);
    await order({ customer: null }, "PATCH", path);
    await order({ customer: "Ada" }, "PATCH", path);
    await create("/v1/categories", { name: "Cats" });
    const all = await first.heard(8);
    const seenBy = (customer: string) =>
      [`order.placed ${id}`, `pet.updated ${pet}`].slice(0, customer === "ada" ? 2 : 0);
    expect((await a.heard(4)).slice(1, 3)).toEqual(seenBy("ada"));
    expect(await b.heard(2)).toEqual([`order.updated ${id}`, `order.updated ${id}`]);
    // The same for whoever reads it later.
    const query = `cursor=${first.pages[0]?.cursor}`;
    expect((await listening({ protocols: shown + ada, query })).events).toEqual(a.events);
    expect(
      (await listening({ protocols: shown + bo, query: `${query}&type=order.placed&type=order.updated` })).events,
    ).toEqual(b.events);
    expect(a.texts.join()).not.toMatch(/"bo"|secret/);
    expect(all).toHaveLength(8);
  });

  test.each([
    ["revoked", { revokedAt: "2026-01-01T00:00:00.000Z" }, { code: 4401, reason: "unauthorized" }],
    ["without its scope", { scopes: ["events:read"] }, { code: 4403, reason: "insufficient_scope" }],
    ["without the scope of tokens", { scopes: SCOPES.filter((scope) => scope !== "tokens:create") }, undefined],
  ] as const)("ends when the key is %s", async (_, change, end) => {
    const own = generateKey("local");
    const record = { id: "k", name: "k", scopes: SCOPES, createdAt: "2026-01-01T00:00:00.000Z" };
    await storeKey(own, record);
    const one = await listening({ key: own });
    const token = await listening({ protocols: `petstore.live.v1, ${await grantToken(own)}` });
    await storeKey(own, { ...record, ...change });
    // The record is cached for 30 seconds, as for requests.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    await env.DB.prepare(EVENT).run();
    await hub().look(HUB);
    if (end === undefined) expect(await one.heard(1)).toEqual(["pet.created 77"]);
    else expect(await one.end()).toEqual(end);
    expect(await token.end()).toEqual(end ?? { code: 4403, reason: "insufficient_scope" });
    expect(token.events).toEqual([]);
    if (end !== undefined) expect(one.events).toEqual([]);
  });

  // Promise: live-ends
  test("ends with the token, within a minute and before any event", async () => {
    const ends = Math.floor(Date.now() / 1_000) + 60;
    const one = await listening({ protocols: `petstore.live.v1, ${await grantToken(key, { expiresAt: ends })}` });
    await check();
    expect(one.closed).toBeUndefined();
    vi.useFakeTimers({ toFake: ["Date"], now: ends * 1_000 });
    await check();
    expect(await one.end()).toEqual({ code: 4401, reason: "unauthorized" });
  });

  test.each(["websocket", undefined])("is nothing when the key ends while it connects: %s", async (upgrade) => {
    const until = Date.now() + HOUR;
    const audience = { types: ["pet."], keyId: "1", keyHash: "", customer: null, scopes: [], until };
    const headers = { "x-audience": JSON.stringify(audience), ...(upgrade && { Upgrade: upgrade }) };
    const answer = await runInDurableObject(hub(), async (object) => {
      const connecting = object.fetch?.(new Request(`https://hub/${HUB}`, { headers }));
      vi.useFakeTimers({ toFake: ["Date"], now: until });
      const response = await connecting;
      return [response?.status, await response?.json()];
    });
    expect(answer).toMatchObject([401, { code: "unauthorized" }]);
  });

  test("is nothing while KV cannot respond, and everything afterwards, when all keys are looked up at once", async () => {
    const one = await listening({ key });
    for (const other of await Promise.all([grantKey(), grantKey()])) await listening({ key: other });
    let [pending, most] = [0, 0];
    await runInDurableObject(hub(), (object) => {
      const { API_KEYS } = (object as unknown as { env: Env }).env;
      const get = API_KEYS.get.bind(API_KEYS) as (...all: unknown[]) => Promise<unknown>;
      vi.spyOn(API_KEYS, "get")
        .mockRejectedValueOnce(new Error("KV is down"))
        .mockImplementation((async (...all: unknown[]) => {
          most = Math.max(most, ++pending);
          const value = await get(...all);
          pending--;
          return value;
        }) as never);
    });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    await env.DB.prepare(EVENT).run();
    await hub().look(HUB);
    expect(await one.heard(1)).toEqual(["pet.created 77"]);
    expect(lines.join()).toContain("KV is down");
    expect(most).toBeGreaterThan(1);
  });
});

/** A result that is to be held: by the values of its statement, and by the number of its session. */
type IsHeld = (values: unknown[], session: number) => boolean;

/** Holds one result of a read of D1, for half a second unless given. Returns whether it is held. */
async function hold(isThis: IsHeld, end: () => Promise<unknown> = () => scheduler.wait(500)): Promise<() => boolean> {
  let [sessions, hasRead] = [0, false];
  await runInDurableObject(hub(), (object) => {
    const { DB } = (object as unknown as { env: Env }).env;
    const begin = DB.withSession.bind(DB);
    vi.spyOn(DB, "withSession").mockImplementation((start) => {
      const [session, number] = [begin(start), sessions++];
      const bind = (statement: D1PreparedStatement, values: unknown[]) => {
        const all = async () => {
          const result = await statement.all();
          if (!hasRead && isThis(values, number)) {
            hasRead = true;
            await end();
          }
          return result;
        };
        return { statement, all };
      };
      return {
        prepare: (sql: string) => ({
          bind: (...values: unknown[]) => bind(session.prepare(sql).bind(...values), values),
        }),
        batch: (list: ReturnType<typeof bind>[]) => session.batch(list.map(({ statement }) => statement)),
        getBookmark: () => session.getBookmark(),
      } as unknown as D1DatabaseSession;
    });
  });
  return () => hasRead;
}

describe("a place", () => {
  // Promise: live-too-far
  test("beyond what is remembered and five reads is too far, and so is one that the feed never had", async () => {
    const { cursor } = await listening({ key });
    await env.DB.prepare(
      `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2400)
       INSERT INTO events (tag, type, version, data, created_at)
       SELECT random() & 4294967295, 'pet.deleted', 1, json_object('id', n), '2026-01-01T00:00:00.000Z' FROM n`,
    ).run();
    // What the hub reads for one listener brings nobody further back.
    const last = env.DB.prepare(
      "SELECT printf('%016x%08x', id, tag) AS place FROM events ORDER BY id DESC LIMIT 1 OFFSET ?",
    );
    const near = encodeEventCursor((await last.bind(1_900).first<string>("place")) ?? "");
    expect((await call(`${LIVE}?cursor=${near}`, { key })).status).toBe(200);
    const protocols = `petstore.live.v1, ${await grantToken(key)}`;
    const strange = encodeEventCursor(`${"0".repeat(15)}1${"a".repeat(8)}`);
    const later = encodeEventCursor(`${"0".repeat(10)}ffffff${"a".repeat(8)}`);
    for (const place of [cursor, strange, later]) {
      await expectError(await call(`${LIVE}?cursor=${place}`, { key }), "cursor_expired");
      const refused = await listen({ protocols, query: `cursor=${place}` });
      expect(await refused.end()).toEqual({ code: 4410, reason: "cursor_expired" });
    }
    await expectError(await call(`${LIVE}?cursor=x`, { key }), "invalid_request");
    expect(await (await listen({ protocols, query: "cursor=x" })).end()).toEqual({
      code: 4400,
      reason: "invalid_request",
    });
  });

  test("that is newer than what a look sees that runs already is not too far", async () => {
    await listening({ key });
    const isHeld = await hold(() => true);
    await hub().look(HUB);
    await expect.poll(isHeld).toBe(true);
    await create("/v1/pets", REX);
    const { cursor } = await (await call("/v1/events?cursor=latest", { key })).json<{ cursor: string }>();
    expect((await listening({ key, query: `cursor=${cursor}` })).cursor).toBe(cursor);
  });

  // Promise: live-pages
  test("brings a bookmark of all its events, also of those that came while the hub read what was before them", async () => {
    // A new hub, which remembers nothing from before its first listener.
    const bindings = { LIVE_OBJECTS: "50" } as never;
    const { cursor } = await (await call("/v1/events?cursor=latest", { key })).json<{ cursor: string }>();
    const first = String(await env.DB.prepare("SELECT max(id) FROM events").first<number>("max(id)"));
    await create("/v1/pets", REX);
    const one = await listening({ key, bindings });
    // The read for the listener, and none of the looks, which begin after the first animal.
    const isHeld = await hold(
      (values) => values.includes(first),
      () => one.heard(1),
    );
    const coming = listening({ key, bindings, query: `cursor=${cursor}` });
    await expect.poll(isHeld).toBe(true);
    await create("/v1/pets", REX);
    const { pages } = await coming;
    expect(pages[0]?.events).toHaveLength(2);
    expect(pages[0]?.bookmark).toBe(one.pages.at(-1)?.bookmark);
  });

  // Promise: live-restores
  test("that a restore takes back closes all sockets, which come back", async () => {
    const [one, two] = [await listening({ key }), await listening({ key, query: "type=order.placed" })];
    await create("/v1/pets", REX);
    await one.heard(1);
    await env.DB.exec("DELETE FROM events WHERE id = (SELECT max(id) FROM events)");
    await create("/v1/pets", REX);
    expect(await one.end()).toMatchObject({ code: 1012 });
    expect(await two.end()).toMatchObject({ code: 1012 });
    expect(
      await (await listen({ protocols: `petstore.live.v1, ${key}`, query: `cursor=${one.cursor}` })).end(),
    ).toEqual({
      code: 4410,
      reason: "cursor_expired",
    });
    const again = await listening({ key, query: `cursor=${two.cursor}` });
    expect(again.events).toHaveLength(1);
    // The hub has seen it, and does not know the new end yet. The sessions before are those of the change and of the look.
    await env.DB.exec("DELETE FROM events WHERE id = (SELECT max(id) FROM events)");
    const isHeld = await hold((_values, session) => session === 2);
    await create("/v1/pets", REX);
    await expect.poll(isHeld).toBe(true);
    const late = await listening({ key, query: `cursor=${again.cursor}` });
    expect(await late.end()).toMatchObject({ code: 1012 });
  });

  // Promise: live-restores
  test("that a restore leaves is good, also for a hub that has not seen the restore", async () => {
    await left();
    await evict();
    const { cursor } = await (await call("/v1/events?cursor=latest", { key })).json<{ cursor: string }>();
    await create("/v1/pets", REX);
    await listening({ key });
    await env.DB.exec("DELETE FROM events WHERE id = (SELECT max(id) FROM events)");
    expect((await listening({ key, query: `cursor=${cursor}` })).cursor).toBe(cursor);
  });
});

test("a listener that comes after the clock was set back gets at once what it missed", async () => {
  onTestFinished(() => void vi.useRealTimers());
  const now = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: now + 3_600_000 });
  const { socket, cursor } = await listening({ key });
  socket.close();
  vi.setSystemTime(now);
  await create("/v1/pets", REX);
  const [page] = (await listening({ key, query: `cursor=${cursor}` })).pages;
  expect(page?.events).toHaveLength(1);
});

describe("without a socket", () => {
  /** The messages of a stream so far. */
  async function read(response: Response, count: number): Promise<{ text: string; leave: () => Promise<void> }> {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (text.split("\n\n").length <= count) {
      const { done, value } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
    }
    return { text, leave: () => reader.cancel() };
  }
  const stream = (headers: object = {}, query = "", apiKey = key) =>
    send(`${LIVE}?${query}`, { Authorization: `Bearer ${apiKey}`, Accept: "text/event-stream", ...headers });

  // Promise: live-streams
  test("a stream has the pages, with their cursors as ids", async () => {
    const response = await stream();
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("text/event-stream");
    expect(response.headers.get("Cache-Control")).toBe("private, no-store");
    const id = idOf(await create("/v1/pets", REX));
    const { text, leave } = await read(response, 2);
    expect(text).toMatch(/^retry: [1-4]\d{3}\nid: /);
    const pages = [...text.matchAll(/id: ([0-9a-f]{32})\ndata: (.*)\n\n/g)].map(([, ...page]) => page);
    expect(pages.map(([cursor, page = ""]) => (JSON.parse(page) as { cursor: string }).cursor === cursor)).toEqual([
      true,
      true,
    ]);
    expect(text).toContain(`"id":${id},`);
    await leave();
    const again = await read(await stream({ "Last-Event-ID": pages[0]?.[0] ?? "" }, "cursor=latest"), 1);
    expect(again.text).toContain(`"id":${id},`);
    await again.leave();
    await expectError(await stream({ "Last-Event-ID": "1" }), "invalid_request");
    await expectError(await stream({}, "", generateKey("local")), "unauthorized");
    await left();
  });

  test("a stream has a comment with each check, and ends with its history", async () => {
    const response = await stream();
    await check();
    await env.DB.exec("UPDATE events SET tag = tag + 1 WHERE id = (SELECT max(id) FROM events)");
    await check();
    const { text } = await read(response, 99);
    expect(text).toMatch(/^retry: .*\nid: .*\ndata: .*\n\n:\n:\n$/);
  });

  // Promise: live-page
  test("there is one page at once, which tells whether there is more", async () => {
    await left();
    const { cursor } = await (await call(LIVE, { key })).json<{ cursor: string }>();
    await call("/v1/pets/batch", { key, method: "POST", body: Array.from({ length: 100 }, () => REX) });
    await create("/v1/pets", REX);
    const first = await (
      await call(`${LIVE}?cursor=${cursor}`, { key })
    ).json<{ events: []; cursor: string; more: boolean }>();
    expect([first.events.length, first.more]).toEqual([100, true]);
    const second = await (await call(`${LIVE}?cursor=${first.cursor}`, { key })).json<typeof first>();
    expect([second.events.length, second.more]).toEqual([1, false]);
    expect(await rows()).toEqual([]);
    // `call` compares each page with the document.
    const item = { ...REX, externalId: "SKU-1" };
    const [{ id: petId }] = await (
      await call("/v1/pets/batch", { key, method: "PUT", body: [item] })
    ).json<[{ id: number }]>();
    // The first category may have an animal.
    await create("/v1/categories", { name: "Hens" });
    await call(await create("/v1/categories", { name: "Owls" }), { key, method: "DELETE" });
    await call(await create("/v1/pets", REX), { key, method: "DELETE" });
    const cancelled = await order({ petId });
    await call(`/v1/store/orders/${cancelled.id}`, { key, method: "DELETE" });
    const shipped = await order({ petId });
    await order({ status: "shipped" }, "PATCH", `/v1/store/orders/${shipped.id}`);
    const third = await (await call(`${LIVE}?cursor=${second.cursor}`, { key })).json<{ events: { type: string }[] }>();
    expect(new Set(third.events.map(({ type }) => type))).toEqual(
      new Set([
        "category.created",
        "category.deleted",
        "order.cancelled",
        "order.placed",
        "order.shipped",
        "pet.created",
        "pet.deleted",
        "pet.updated",
      ]),
    );
  });

  test.each([
    ["Accept", "application/json;q=0.1, Text/Event-Stream; Q=0.5", "text/event-stream"],
    ["Accept", "text/event-stream;q=0", "application/json"],
    ["Upgrade", "websocket", "application/json"],
  ])("HEAD with %s: %s opens nothing", async (name, value, type) => {
    await left();
    const response = await call(LIVE, { key, method: "HEAD", headers: { [name]: value } });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, type]);
    expect(await rows()).toEqual([]);
  });
});

describe("who does not read", () => {
  // Promise: live-share
  test.each([
    ["sockets", "customer", [5, LIMITS.customer.listeners - 5]],
    ["streams", "customer", [5, LIMITS.customer.listeners - 5]],
    ["sockets", "customer", [5, 4]],
    ["streams", "customer", [5, 4]],
    ["sockets", "key", [9]],
  ] as const)("has as much in memory by its %s as a %s may, and no more listeners: %j", async (kind, owner, turns) => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    vi.spyOn(LIMITS.key, "bytes", "get").mockReturnValue(LIMITS.customer.bytes);
    const other = await listening({ key });
    const own = await grantKey();
    const bearer = `Bearer ${owner === "key" ? own : await grantToken(own)}`;
    const form = kind === "sockets" ? { Upgrade: "websocket" } : { Accept: "text/event-stream" };
    const join = () => send(`${LIVE}?cursor=${other.cursor}`, { Authorization: bearer, ...form });
    const unread: Response[] = [];
    // What waits for the first ones, which have ended, leaves less for the others.
    for (const [turn, joins] of turns.entries()) {
      unread.push(...(await Promise.all(Array.from({ length: joins }, join))));
      await add(300);
      await check();
      expect(await other.heard(300 * (turn + 1))).toHaveLength(300 * (turn + 1));
    }
    await expectError(await join(), "rate_limited");
    let bytes = 0;
    for (const response of unread) {
      const listener = kind === "sockets" ? new Listener(response) : undefined;
      if (listener !== undefined) expect(await listener.end()).toMatchObject({ code: 1008 });
      bytes += (listener?.texts.join("") ?? (await response.text())).length;
    }
    expect(bytes).toBeGreaterThan(LIMITS.customer.bytes);
    expect(bytes).toBeLessThan(LIMITS.customer.bytes + unread.length * 32_768);
    // What was read waits no more.
    let last = await join();
    await expect.poll(async () => (last = last.status < 400 ? last : await join()).status).toBeLessThan(400);
    if (kind === "sockets") open.push(new Listener(last));
    else await last.body?.cancel();
  });
});

describe("who connects", () => {
  // Promise: live-closes
  test("learns why not by the code of the close, if it is a page", async () => {
    const token = await grantToken(key);
    const refused = async (protocols: string, bindings = {}) => {
      const listener = await listen({ protocols, bindings });
      expect(listener.protocol).toBe("petstore.live.v1");
      return listener.end();
    };
    const limiter = { limit: () => Promise.resolve({ success: false }) };
    const offer = `petstore.live.v1,${token}`;
    expect(await refused(`${offer}x`)).toEqual({ code: 4401, reason: "unauthorized" });
    expect(await refused("petstore.live.v1")).toEqual({ code: 4401, reason: "unauthorized" });
    expect(await refused(offer, { CUSTOMER_RATE_LIMITER: limiter })).toEqual({ code: 4429, reason: "rate_limited" });
    expect(await refused(offer, { LIVE_OBJECTS: "0" })).toEqual({ code: 4404, reason: "not_found" });
    expect(await refused(`petstore.live.v1, ${await grantToken(key, { scopes: [] })}`)).toEqual({
      code: 4403,
      reason: "insufficient_scope",
    });
    const down = { getByName: () => ({ fetch: () => Promise.reject(new Error("no such method")) }) };
    expect(await refused(offer, { WEBHOOKS: down })).toEqual({ code: 4503, reason: "service_unavailable" });
    // The log has the status, and nothing of a token.
    const statuses = lines.flatMap((line) =>
      line.includes('"route"') ? [(JSON.parse(line) as { status: number }).status] : [],
    );
    expect(statuses).toEqual([401, 401, 429, 404, 403, 503]);
    expect(lines.join()).not.toContain(token.slice(-20));
  });

  test("without the protocol gets plain responses", async () => {
    const upgrade = { Upgrade: "websocket" };
    await expectError(await send(LIVE, upgrade), "unauthorized");
    const token = await grantToken(key);
    await expectError(await send(LIVE, { ...upgrade, "Sec-WebSocket-Protocol": token }), "unauthorized");
    await expectError(await send(LIVE, { ...upgrade, "Sec-WebSocket-Protocol": `chat, ${token}` }), "unauthorized");
    // No other operation takes a token there.
    await expectError(
      await send("/v1/pets", { ...upgrade, "Sec-WebSocket-Protocol": `petstore.live.v1, ${token}` }),
      "unauthorized",
    );
    const one = await listening({ key, protocols: "chat" });
    expect(one.protocol).toBeNull();
    // A header comes before a protocol.
    const two = await listen({ key: `${key}x`, protocols: `petstore.live.v1, ${key}` });
    expect(await two.end()).toMatchObject({ code: 4401 });
  });

  test.each(["0", "", "x", "101", "-1", "1.5", " 1"])("finds no live feed with LIVE_OBJECTS = %j", async (setting) => {
    const bindings = { LIVE_OBJECTS: setting } as unknown as Partial<Env>;
    expect(await expectError(await call(LIVE, { key, bindings }), "not_found")).toContain("Read /events");
  });

  test.each([200, 404])("gets service_unavailable from an object that ends in its response of %i", async (status) => {
    const body = () => new ReadableStream({ start: (controller) => controller.error(new Error("It ended")) });
    const fetch = () => Promise.resolve(new Response(body(), { status }));
    const bindings = { WEBHOOKS: { getByName: () => ({ fetch }) } } as unknown as Partial<Env>;
    await expectError(await call(LIVE, { key, bindings }), "service_unavailable");
  });

  // Promise: live-limits
  test("is one of 20 listeners of a customer, and of 1,000 of a key, in an object of 2,000", async () => {
    const { hub: all, key: ofKey, customer } = LIMITS;
    // Those of the test before count until they are gone.
    await expect.poll(() => runInDurableObject(hub(), (_, state) => state.getWebSockets().length)).toBe(0);
    expect([customer, ofKey, all].map(({ listeners }) => listeners)).toEqual([20, 1_000, 2_000]);
    // A tenth behaves the same, and takes a tenth of the time.
    onTestFinished(() => void ([ofKey.listeners, all.listeners] = [1_000, 2_000]));
    [ofKey.listeners, all.listeners] = [100, 200];
    const many = async (options: Parameters<typeof connect>[0], count: number) => {
      for (let done = 0; done < count; done += 100)
        await Promise.all(Array.from({ length: Math.min(100, count - done) }, () => listen(options)));
    };
    const protocols = `petstore.live.v1, ${await grantToken(key)}`;
    await many({ protocols }, customer.listeners);
    await runInDurableObject(hub(), (object) => {
      const { DB } = (object as unknown as { env: Env }).env;
      vi.spyOn(DB, "withSession").mockImplementation(() => expect.unreachable("A refusal costs a read"));
    });
    const place = `cursor=${encodeEventCursor(`${"0".repeat(15)}1${"a".repeat(8)}`)}`;
    expect(await (await listen({ protocols, query: place })).end()).toEqual({ code: 4429, reason: "rate_limited" });
    vi.restoreAllMocks();
    await listening({ protocols: `petstore.live.v1, ${await grantToken(key, { customer: "bo" })}` });
    await many({ key }, ofKey.listeners);
    await expectError(await send(LIVE, { Upgrade: "websocket", Authorization: `Bearer ${key}` }), "rate_limited");
    const other = await grantKey();
    await many({ key: other }, all.listeners - ofKey.listeners - customer.listeners - 1);
    await expectError(
      await send(LIVE, { Upgrade: "websocket", Authorization: `Bearer ${other}` }),
      "service_unavailable",
    );
    // All of them hear a change.
    await create("/v1/pets", REX);
    for (const listener of open.filter(({ closed }) => closed === undefined)) await listener.heard(1);
  });
});

describe("the row of a hub", () => {
  test("is there before its first listener is answered, and for as long as there is one", async () => {
    await left();
    const one = await listen({ key });
    expect(await rows()).toEqual([{ name: HUB }]);
    await env.DB.exec("DELETE FROM live_hubs");
    await check();
    expect(await rows()).toEqual([{ name: HUB }]);
    one.socket.close();
    await left();
    // A restore brings it back.
    await env.DB.exec("INSERT INTO live_hubs VALUES ('live:0')");
    await hub().look(HUB);
    await check();
    expect(await rows()).toEqual([]);
  });

  test.each([1, 3])("that a restore took is made known again, although D1 loses %i answers", async (count) => {
    await runInDurableObject(hub("live:9"), async (_, state) => {
      const faults = Array.from(
        { length: count },
        () => ({ when: "after", message: "Network connection lost." }) as const,
      );
      const { DB } = observedDatabase(undefined, undefined, undefined, ...faults);
      const isNew = vi.fn<() => void>();
      const registration = new Registration(State.named(state, "live:9"), { ...env, DB }, state, isNew);
      await registration.begin();
      await registration.renew();
      expect(isNew).toHaveBeenCalledTimes(1);
      await env.DB.exec("DELETE FROM live_hubs WHERE name = 'live:9'");
      await registration.renew().catch(() => {});
      await registration.renew();
      expect(isNew).toHaveBeenCalledTimes(2);
      expect(await rows()).toContainEqual({ name: "live:9" });
      await registration.end(() => true);
      await state.storage.deleteAlarm();
    });
  });

  test("that a restore took comes back when D1 works again", async () => {
    await listening({ key });
    await env.DB.exec("DELETE FROM live_hubs");
    await runInDurableObject(hub(), (object) => {
      const { DB } = (object as unknown as { env: Env }).env;
      const begin = DB.withSession.bind(DB);
      // After the look, and the read of the row.
      const spy = vi.spyOn(DB, "withSession").mockImplementationOnce(begin).mockImplementationOnce(begin);
      spy.mockImplementationOnce(() => expect.unreachable("D1 is down"));
    });
    await check();
    expect(await rows()).toEqual([]);
    await check();
    expect(await rows()).toEqual([{ name: HUB }]);
  });

  test("is checked within a minute, also after a clock that was ahead", async () => {
    await left();
    const now = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: now + HOUR });
    await listening({ key });
    vi.setSystemTime(now);
    await hub().look(HUB);
    const alarm = await runInDurableObject(hub(), (_, { storage }) => storage.getAlarm());
    expect(alarm).toBeLessThanOrEqual(now + 60_000);
  });

  test("that several objects have tells all of them", async () => {
    const bindings = { LIVE_OBJECTS: "3" } as unknown as Partial<Env>;
    const keys = await Promise.all(Array.from({ length: 8 }, () => grantKey()));
    const listeners = await Promise.all(keys.map((key) => listening({ key, bindings })));
    expect((await rows()).length).toBeGreaterThan(1);
    await create("/v1/pets", REX);
    for (const listener of listeners) await listener.heard(1);
  });
});
