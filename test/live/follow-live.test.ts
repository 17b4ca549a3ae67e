import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { encodeEventCursor } from "../../src/feed/place.ts";
import { LIMITS } from "../../src/live/listeners.ts";
import { forgetEnabled } from "../../src/webhooks/nudge.ts";
import { call, create as change, expectError, idOf } from "../support/client.ts";
import { grantKey, grantToken, key, storeKey } from "../support/keys.ts";
import { connect, Listener, PROTOCOL, send, until } from "./listener.ts";

const LIVE = "/v1/events/live";
const REX = { name: "Rex", categoryId: 1 };
const HUB = "live:0";
const hub = () => env.WEBHOOKS.getByName(HUB);
const check = () => runDurableObjectAlarm(hub());
const rows = async () => (await env.DB.prepare("SELECT name FROM live_hubs").all()).results;
/** So many events. */
const add = (count: number, description = "") =>
  env.DB.prepare(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
     INSERT INTO events (tag, type, version, data, created_at)
     SELECT random() & 4294967295, 'category.updated', 1, json_object('id', n, 'name', 'x', 'description', ?), '2026-01-01T00:00:00.000Z' FROM n`,
  )
    .bind(count, description)
    .run();
const LONG = "x".repeat(2_000);
/** The cursor of the event so far before the last one. */
const cursorAt = async (back: number) =>
  encodeEventCursor(
    (await env.DB.prepare("SELECT printf('%016x%08x', id, tag) AS place FROM events ORDER BY id DESC LIMIT 1 OFFSET ?")
      .bind(back)
      .first<string>("place")) ?? "",
  );
/** What removes the newest event, like a restore. */
const FORGET = "DELETE FROM events WHERE id = (SELECT max(id) FROM events)";
const STRANGE = encodeEventCursor(`${"0".repeat(15)}1${"a".repeat(8)}`);
const REAL = { ...LIMITS };
const UNAUTHORIZED = { code: 4401, reason: "unauthorized" };

/** The isolate reads the names of the hubs again, and nudges them. */
const create: typeof change = (...all) => {
  forgetEnabled();
  return change(...all);
};
const order = async (body: object, method = "POST", path = "/v1/store/orders") => {
  forgetEnabled();
  return (await call(path, { key, method, body })).json<{ id: number }>();
};

const open: Listener[] = [];
const listen = async (options?: Parameters<typeof connect>[0]) => {
  const listener = await connect(options);
  open.push(listener);
  return listener;
};
/** One that has its first page. */
const listening = async (options?: Parameters<typeof connect>[0]) => {
  const listener = await listen(options);
  await until(() => expect(listener.cursor).not.toBe(""));
  return listener;
};
/** How a socket ends that is refused. */
const refused = async (options: Parameters<typeof connect>[0]) => (await listen(options)).end();

/** What the hub has for this moment. */
const surroundings = () =>
  runInDurableObject(hub(), (object) => {
    const { DB, API_KEYS } = (object as unknown as { env: Env }).env;
    return { DB, API_KEYS };
  });

const later = (milliseconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + milliseconds });

let lines: string[] = [];
const wait = globalThis.setTimeout;
beforeEach(() => {
  lines = [];
  for (const method of ["log", "error", "warn"] as const)
    vi.spyOn(console, method).mockImplementation((line) => void lines.push(String(line)));
  // The pauses of the hub.
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, pause: number) =>
    wait(run, pause / 20)) as never);
});
afterEach(() => {
  Object.assign(LIMITS, REAL);
  for (const { socket, closed } of open.splice(0)) if (closed === undefined) socket.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** The hub has no listener, and knows it. */
const left = () =>
  until(async () => {
    await check();
    expect(await rows()).toEqual([]);
  });

describe("a socket", () => {
  // Promise: live-first-page, live-pages
  test("gets the present place at once, and then each change", async () => {
    const one = await listening();
    expect(JSON.parse(one.texts[0] ?? "")).toEqual({
      events: [],
      cursor: expect.stringMatching(/^[0-9a-f]{32}$/),
      more: false,
      bookmark: expect.any(String),
    });
    const { cursor } = one;
    const id = idOf(await create("/v1/pets", REX));
    await create("/v1/categories", { name: "Dogs" });
    expect(await one.heard(2)).toEqual([`pet.created ${id}`, "category.created 1"]);
    const feed = await (await call(`/v1/events?cursor=${cursor}`, { key })).json<object>();
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
    const { cursor } = await listening();
    for (const name of ["a", "b", "c"]) await create("/v1/pets", { ...REX, name });
    const one = await listening({ query: `cursor=${cursor}` });
    expect(await one.heard(3)).toHaveLength(3);
    const two = await listening({ query: `cursor=${one.cursor}&type=pet.deleted` });
    await create("/v1/pets", REX);
    await one.heard(4);
    // The hub that wakes up remembers nothing. Until the isolates know it, it looks by itself, and is not evicted.
    await evictDurableObject(hub());
    const three = await listening({ query: `cursor=${cursor}` });
    expect(three.events).toEqual(one.events);
    await create("/v1/pets", REX);
    expect(await three.heard(5)).toHaveLength(5);
    await one.heard(5);
    expect(one.events).toEqual(three.events);
    expect(two.events).toEqual([]);
  });

  // Promise: live-answers-ping
  test("has pong for ping, and is closed after ten other messages, or a long one", async () => {
    const [one, two] = [await listening(), await listening()];
    const pongs = (count: number) =>
      until(() => expect(one.texts.filter((text) => text === "pong")).toHaveLength(count));
    one.socket.send("ping");
    await pongs(1);
    for (let count = 0; count < 10; count++) one.socket.send(count % 2 === 0 ? "hello" : new Uint8Array(5));
    one.socket.send("ping");
    await pongs(2);
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
    const one = await listening();
    one.socket.close(code);
    expect(await one.end()).toMatchObject({ code: answer });
  });

  test("hears of a change right after one that came before it", async () => {
    vi.restoreAllMocks();
    const first = await listening();
    await create("/v1/pets", REX);
    await first.heard(1);
    first.socket.close();
    await first.end();
    await create("/v1/pets", REX);
    // Within 100 milliseconds, the isolate leaves out the nudge.
    const one = await listening();
    const id = idOf(await change("/v1/pets", REX));
    await until(() => expect(one.events.map(({ data }) => data)).toContainEqual(expect.objectContaining({ id })));
  });

  test("that has sent a ping, and none for 150 seconds, is gone", async () => {
    const [one, two] = [await listening(), await listening()];
    one.socket.send("ping");
    await until(() => expect(one.texts).toContain("pong"));
    later(151_000);
    await check();
    expect(await one.end()).toEqual({ code: 4408, reason: "request_timeout" });
    expect(two.closed).toBeUndefined();
  });

  // Promise: live-renews
  test("comes back after its part of the bytes of its key, which a hibernation does not forget", async () => {
    LIMITS.key = { listeners: 10, bytes: 3 * 2 ** 20 };
    // Some come back sooner, by chance.
    const chance = vi.spyOn(Math, "random").mockReturnValue(0);
    const [one, quiet] = [await listening(), await listening({ query: "type=pet.created" })];
    chance.mockReturnValue(0.99);
    const early = await listening();
    await add(300, LONG);
    await check();
    const endsAfter = async (listener: Listener, mebibytes: number) => {
      expect(await listener.end()).toMatchObject({ code: 1008 });
      expect(listener.bytes / 2 ** 20).toBeGreaterThan(mebibytes);
      expect(listener.bytes / 2 ** 20).toBeLessThan(mebibytes + 0.04);
    };
    await endsAfter(early, 0.505);
    await one.heard(300);
    chance.mockReturnValue(0);
    await evictDurableObject(hub());
    await add(600, LONG);
    await check();
    // Now a half.
    await endsAfter(one, 1.5);
    expect(quiet.closed).toBeUndefined();
  });

  test("of a customer comes back sooner, and gets what it missed in parts", async () => {
    LIMITS.customer = { listeners: 20, bytes: 2 ** 19 };
    const token = await grantToken(key);
    const [all, first] = [await listening(), await listening({ token })];
    await add(900, LONG);
    await check();
    await all.heard(900);
    const events: unknown[] = [];
    let turns = 0;
    for (let one = first; turns < 20; turns++) {
      if (turns > 0) one = await listening({ token, query: `cursor=${one.cursor}` });
      // The last of them stays.
      await until(() => expect(one.closed ?? one.cursor === all.cursor).toBeTruthy());
      events.push(...one.events);
      if (one.closed === undefined) break;
      expect(one.bytes).toBeLessThan(1.1 * LIMITS.customer.bytes);
    }
    expect(events).toEqual(all.events);
    expect(turns).toBeGreaterThan(2);
  });

  // Whoever does not read fills memory, and nothing but its own end frees that.
  test.each([
    ["socket", "Upgrade", "websocket"],
    ["stream", "Accept", "text/event-stream"],
  ])("or a stream that nobody reads ends, and its customer has no more in memory: %s", async (_, name, value) => {
    const [token, other] = [await grantToken(key), await grantToken(key, { customer: "bo" })];
    vi.spyOn(Math, "random").mockReturnValue(0);
    await listening({ token, query: "type=pet.created" });
    const { cursor } = await listening();
    await add(900, LONG);
    await check();
    const headers = { [name]: value, Authorization: `Bearer ${token}` };
    const unread: Response[] = [];
    let response: Response;
    while ((response = await send(`${LIVE}?cursor=${cursor}`, headers)).status < 300) unread.push(response);
    await expectError(response, "rate_limited");
    await listening({ token: other });
    let bytes = 0;
    for (const response of unread) {
      if (response.webSocket === null) bytes += (await response.arrayBuffer()).byteLength;
      else {
        const listener = new Listener(response);
        expect(await listener.end()).toMatchObject({ code: 1008 });
        bytes += listener.bytes;
      }
    }
    expect(bytes).toBeGreaterThan(LIMITS.customer.bytes);
    expect(bytes).toBeLessThan(2.1 * LIMITS.customer.bytes);
    await listening({ token });
  });
});

describe("what a listener may see", () => {
  // Promise: live-rights
  test("is what the scopes of its key allow, and the types that it names", async () => {
    const [pets, orders] = await Promise.all(
      (["pets:read", "store:read"] as const).map((scope) => grantKey({ scopes: ["events:read", scope] })),
    );
    const all = await listening();
    const of = { pets: await listening({ key: pets ?? "" }), orders: await listening({ key: orders ?? "" }) };
    const created = await listening({ query: "type=pet.created" });
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
      [await grantToken(key, { scopes: ["pets:read"] }), "type=order.placed"],
    ] as [string, string][])
      await expectError(await call(`${LIVE}?${query}`, { key: apiKey }), "insufficient_scope");
  });

  // Promise: live-orders-of-others
  test("of a customer are the animals and the own orders, whoever had them before and has them later", async () => {
    const [ada, bo] = [await grantToken(key, { customer: "ada" }), await grantToken(key, { customer: "bo" })];
    const types = "type=order.placed&type=order.updated";
    const [first, a] = [await listening(), await listening({ token: ada })];
    const b = await listening({ token: bo, query: types });
    const query = `cursor=${first.cursor}`;
    expect(a.protocol).toBe(PROTOCOL);
    const pet = idOf(await create("/v1/pets", REX));
    const { id } = await order({ petId: pet, customer: "ada" });
    const path = `/v1/store/orders/${id}`;
    await order({ customer: "bo" }, "PATCH", path);
    await order({ reference: "secret of bo" }, "PATCH", path);
    await order({ customer: null }, "PATCH", path);
    await order({ customer: "Ada" }, "PATCH", path);
    await create("/v1/categories", { name: "Cats" });
    expect(await first.heard(8)).toHaveLength(8);
    expect((await a.heard(4)).slice(1, 3)).toEqual([`order.placed ${id}`, `pet.updated ${pet}`]);
    expect(await b.heard(2)).toEqual([`order.updated ${id}`, `order.updated ${id}`]);
    // The same for whoever reads it later.
    expect((await listening({ token: ada, query })).events).toEqual(a.events);
    expect((await listening({ token: bo, query: `${query}&${types}` })).events).toEqual(b.events);
    expect(a.texts.join()).not.toMatch(/"bo"|secret/);
  });

  test.each([
    ["revoked", { revokedAt: "2026-01-01T00:00:00.000Z" }, UNAUTHORIZED],
    ["without its scope", { scopes: ["events:read"] }, { code: 4403, reason: "insufficient_scope" }],
    ["without the scope of tokens", { scopes: SCOPES.filter((scope) => scope !== "tokens:create") }, undefined],
  ] as const)("ends when the key is %s", async (_, change, end) => {
    const own = generateKey("local");
    const record = { id: "k", name: "k", scopes: SCOPES, createdAt: "2026-01-01T00:00:00.000Z" };
    await storeKey(own, record);
    const one = await listening({ key: own });
    const token = await listening({ token: await grantToken(own) });
    await storeKey(own, { ...record, ...change });
    // The record is cached for 30 seconds, as for requests.
    later(31_000);
    await add(1);
    await hub().look(HUB);
    if (end === undefined) expect(await one.heard(1)).toEqual(["category.updated 1"]);
    else expect([await one.end(), one.events]).toEqual([end, []]);
    expect(await token.end()).toEqual(end ?? { code: 4403, reason: "insufficient_scope" });
    expect(token.events).toEqual([]);
  });

  // Promise: live-ends
  test("ends with the token, within a minute and before any event", async () => {
    const ends = Math.floor(Date.now() / 1_000) + 60;
    const one = await listening({ token: await grantToken(key, { expiresAt: ends }) });
    await check();
    expect(one.closed).toBeUndefined();
    later(ends * 1_000 - Date.now());
    await check();
    expect(await one.end()).toEqual(UNAUTHORIZED);
  });

  test("is nothing while KV cannot respond, and everything afterwards, when all keys are looked up at once", async () => {
    const one = await listening();
    for (const other of await Promise.all([grantKey(), grantKey()])) await listening({ key: other });
    let [pending, most] = [0, 0];
    const { API_KEYS } = await surroundings();
    const get = API_KEYS.get.bind(API_KEYS) as (...all: unknown[]) => Promise<unknown>;
    vi.spyOn(API_KEYS, "get")
      .mockRejectedValueOnce(new Error("KV is down"))
      .mockImplementation((async (...all: unknown[]) => {
        most = Math.max(most, ++pending);
        const value = await get(...all);
        pending--;
        return value;
      }) as never);
    later(31_000);
    await add(1);
    await hub().look(HUB);
    expect(await one.heard(1)).toEqual(["category.updated 1"]);
    expect(lines.join()).toContain("KV is down");
    expect(most).toBeGreaterThan(1);
  });
});

/** Holds the result of the next read of D1 with such a statement until it is let go. Returns that, and whether it is held. */
async function hold(pattern: RegExp): Promise<{ isHeld: () => boolean; letGo: () => void }> {
  let hasRead = false;
  const { promise: waits, resolve: letGo } = Promise.withResolvers<void>();
  const { DB } = await surroundings();
  const begin = DB.withSession.bind(DB);
  vi.spyOn(DB, "withSession").mockImplementation((start) => {
    const session = begin(start);
    const all = async (statement: D1PreparedStatement) => {
      const result = await statement.all();
      hasRead = true;
      await waits;
      return result;
    };
    const held = (sql: string) => ({
      bind: (...values: unknown[]) => ({ all: () => all(session.prepare(sql).bind(...values)) }),
    });
    return {
      prepare: (sql: string) => (!hasRead && pattern.test(sql) ? held(sql) : session.prepare(sql)),
      batch: (statements: D1PreparedStatement[]) => session.batch(statements),
      getBookmark: () => session.getBookmark(),
    } as unknown as D1DatabaseSession;
  });
  return { isHeld: () => hasRead, letGo };
}

describe("a place", () => {
  // Promise: live-too-far
  test("that more than 1,000 events follow is too far, and so is one that the feed never had", async () => {
    const one = await listening();
    await add(1_001);
    expect((await call(`${LIVE}?cursor=${await cursorAt(1_000)}`, { key })).status).toBe(200);
    // Also for a hub that has slept.
    one.socket.close();
    await left();
    await evictDurableObject(hub());
    expect((await call(`${LIVE}?cursor=${await cursorAt(1_000)}`, { key })).status).toBe(200);
    const token = await grantToken(key);
    const newer = encodeEventCursor(`${"0".repeat(10)}ffffff${"a".repeat(8)}`);
    for (const place of [await cursorAt(1_001), STRANGE, newer]) {
      await expectError(await call(`${LIVE}?cursor=${place}`, { key }), "cursor_expired");
      expect(await refused({ token, query: `cursor=${place}` })).toEqual({ code: 4410, reason: "cursor_expired" });
    }
    await expectError(await call(`${LIVE}?cursor=x`, { key }), "invalid_request");
    expect(await refused({ token, query: "cursor=x" })).toEqual({ code: 4400, reason: "invalid_request" });
  });

  test("that is newer than what a look sees that runs already is not too far", async () => {
    await listening();
    const { isHeld, letGo } = await hold(/'customer'/);
    await hub().look(HUB);
    await until(() => expect(isHeld()).toBe(true));
    await create("/v1/pets", REX);
    const { cursor } = await (await call("/v1/events?cursor=latest", { key })).json<{ cursor: string }>();
    const joining = listening({ query: `cursor=${cursor}` });
    wait(letGo, 50);
    expect((await joining).cursor).toBe(cursor);
  });

  // Promise: live-restores
  test("that a restore takes back closes all sockets, which come back", async () => {
    const [one, two] = [await listening(), await listening({ query: "type=order.placed" })];
    await create("/v1/pets", REX);
    await one.heard(1);
    await env.DB.exec(FORGET);
    await create("/v1/pets", REX);
    expect(await one.end()).toMatchObject({ code: 1012 });
    expect(await two.end()).toMatchObject({ code: 1012 });
    const expired = { code: 4410, reason: "cursor_expired" };
    expect(await refused({ token: key, query: `cursor=${one.cursor}` })).toEqual(expired);
    const again = await listening({ query: `cursor=${two.cursor}` });
    expect(again.events).toHaveLength(1);
    // The hub has seen it, and does not know the new end yet.
    const { isHeld, letGo } = await hold(/order by .* desc/);
    await env.DB.exec(FORGET);
    await add(1);
    await hub().look(HUB);
    await until(() => expect(isHeld()).toBe(true));
    const late = await listening({ query: `cursor=${again.cursor}` });
    letGo();
    expect(await late.end()).toMatchObject({ code: 1012 });
  });
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
    const pages = [...text.matchAll(/id: ([0-9a-f]{32})\ndata: (.*)\n\n/g)];
    const cursors = pages.map(([, , page = ""]) => (JSON.parse(page) as { cursor: string }).cursor);
    expect(cursors).toEqual(pages.map(([, cursor]) => cursor));
    expect(cursors).toHaveLength(2);
    expect(text).toContain(`"id":${id},`);
    await leave();
    const again = await read(await stream({ "Last-Event-ID": cursors[0] ?? "" }, "cursor=latest"), 1);
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
    const page = async (cursor: string) =>
      (await call(`${LIVE}?cursor=${cursor}`, { key })).json<{
        events: { type: string }[];
        cursor: string;
        more: boolean;
      }>();
    const { cursor } = await page("latest");
    await create("/v1/categories", { name: "Hens" });
    await add(99);
    await create("/v1/pets", REX);
    const first = await page(cursor);
    expect([first.events.length, first.more]).toEqual([100, true]);
    const second = await page(first.cursor);
    expect([second.events.length, second.more]).toEqual([1, false]);
    expect(await rows()).toEqual([]);
    // `call` compares each page with the document.
    const item = { ...REX, externalId: "SKU-1" };
    const [{ id: petId }] = await (
      await call("/v1/pets/batch", { key, method: "PUT", body: [item] })
    ).json<[{ id: number }]>();
    for (const [path, body] of [
      ["/v1/categories", { name: "Owls" }],
      ["/v1/pets", REX],
    ] as const)
      await call(await create(path, body), { key, method: "DELETE" });
    const cancelled = await order({ petId });
    await call(`/v1/store/orders/${cancelled.id}`, { key, method: "DELETE" });
    const shipped = await order({ petId });
    await order({ status: "shipped" }, "PATCH", `/v1/store/orders/${shipped.id}`);
    const { events } = await page(second.cursor);
    const types = ["category.created", "category.deleted", "order.cancelled", "order.placed", "order.shipped"];
    const ofPets = ["pet.created", "pet.deleted", "pet.updated"];
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set([...types, ...ofPets]));
  });

  test.each([
    ["Accept", "text/event-stream", "text/event-stream"],
    ["Upgrade", "websocket", "application/json"],
  ])("HEAD with %s: %s opens nothing", async (name, value, type) => {
    await left();
    const response = await call(LIVE, { key, method: "HEAD", headers: { [name]: value } });
    expect([response.status, response.headers.get("Content-Type")]).toEqual([200, type]);
    expect(await rows()).toEqual([]);
  });
});

describe("who connects", () => {
  // Promise: live-closes
  test("learns why not by the code of the close, if it is a page", async () => {
    const token = await grantToken(key);
    const limiter = { limit: () => Promise.resolve({ success: false }) };
    const down = { getByName: () => ({ fetch: () => Promise.reject(new Error("no such method")) }) };
    const withoutScope = await grantToken(key, { scopes: [] });
    const cases: [object, number, string][] = [
      [{ protocols: `${PROTOCOL},${token}x` }, 401, "unauthorized"],
      [{ protocols: PROTOCOL }, 401, "unauthorized"],
      // A header comes before a protocol.
      [{ key: `${key}x`, token: key }, 401, "unauthorized"],
      [{ token, bindings: { CUSTOMER_RATE_LIMITER: limiter } }, 429, "rate_limited"],
      [{ token, bindings: { LIVE_OBJECTS: "0" } }, 404, "not_found"],
      [{ token: withoutScope }, 403, "insufficient_scope"],
      [{ token, bindings: { WEBHOOKS: down } }, 503, "service_unavailable"],
    ];
    for (const [options, status, reason] of cases) {
      const listener = await listen(options);
      expect(listener.protocol).toBe(PROTOCOL);
      expect(await listener.end()).toEqual({ code: 4_000 + status, reason });
    }
    // The log has the status, and nothing of a token.
    const statuses = lines.flatMap((line) =>
      line.includes('"route"') ? [(JSON.parse(line) as { status: number }).status] : [],
    );
    expect(statuses).toEqual(cases.map(([, status]) => status));
    expect(lines.join()).not.toContain(token.slice(-20));
  });

  test("without the protocol gets plain responses", async () => {
    const token = await grantToken(key);
    for (const [path, offer] of [
      [LIVE, token],
      [LIVE, `chat, ${token}`],
      // No other operation takes a token there.
      ["/v1/pets", `${PROTOCOL}, ${token}`],
    ] as const)
      await expectError(await send(path, { Upgrade: "websocket", "Sec-WebSocket-Protocol": offer }), "unauthorized");
    expect((await listening({ key, protocols: "chat" })).protocol).toBeNull();
  });

  test("finds no live feed when LIVE_OBJECTS is no number from 1 to 100", async () => {
    for (const setting of ["0", "", "x", "101", "-1", "1.5", " 1"]) {
      const bindings = { LIVE_OBJECTS: setting } as unknown as Partial<Env>;
      expect(await expectError(await call(LIVE, { key, bindings }), "not_found")).toContain("Read /events");
    }
  });

  test.each([200, 404])("gets service_unavailable from an object that ends in its response of %i", async (status) => {
    const body = () => new ReadableStream({ start: (controller) => controller.error(new Error("It ended")) });
    const fetch = () => Promise.resolve(new Response(body(), { status }));
    const bindings = { WEBHOOKS: { getByName: () => ({ fetch }) } } as unknown as Partial<Env>;
    await expectError(await call(LIVE, { key, bindings }), "service_unavailable");
  });

  // Promise: live-limits
  test("is one of 20 listeners of a customer, and of 1,000 of a key, in an object of 2,000", async () => {
    expect([LIMITS.customer.listeners, LIMITS.key.listeners, LIMITS.hub.listeners]).toEqual([20, 1_000, 2_000]);
    await left();
    LIMITS.key = { ...LIMITS.key, listeners: 25 };
    LIMITS.hub = { ...LIMITS.hub, listeners: 50 };
    const many = (options: Parameters<typeof connect>[0], count: number) =>
      Promise.all(Array.from({ length: count }, () => listen(options)));
    const token = await grantToken(key);
    await many({ token }, 20);
    const spy = vi.spyOn((await surroundings()).DB, "withSession");
    spy.mockImplementation(() => expect.unreachable("A refusal costs a read"));
    expect(await refused({ token, query: `cursor=${STRANGE}` })).toEqual({ code: 4429, reason: "rate_limited" });
    spy.mockRestore();
    await listening({ token: await grantToken(key, { customer: "bo" }) });
    await many({}, 25);
    await expectError(await send(LIVE, { Upgrade: "websocket", Authorization: `Bearer ${key}` }), "rate_limited");
    const other = await grantKey();
    await many({ key: other }, 4);
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
    const one = await listen();
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

  test("that several objects have tells all of them", async () => {
    const bindings = { LIVE_OBJECTS: "3" } as unknown as Partial<Env>;
    const keys = await Promise.all(Array.from({ length: 8 }, () => grantKey()));
    const listeners = await Promise.all(keys.map((key) => listening({ key, bindings })));
    expect((await rows()).length).toBeGreaterThan(1);
    await create("/v1/pets", REX);
    for (const listener of listeners) await listener.heard(1);
  });
});
