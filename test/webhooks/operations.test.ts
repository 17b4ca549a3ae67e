import {
  createExecutionContext,
  createScheduledController,
  runDurableObjectAlarm,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import worker from "../../src/index.ts";
import { sign } from "../../src/webhooks/engine/signing.ts";
import { forgetEnabled, REMEMBERED } from "../../src/webhooks/nudge.ts";
import { latest } from "../events/feed.ts";
import { call, type Call, expectError, expectJson } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";
import { wrappedDatabase } from "../support/wrapped-d1.ts";
import {
  addEvents,
  events,
  Hook,
  HOUR,
  ids,
  lines,
  pass,
  received,
  respond,
  SECOND,
  URL_OF_RECEIVER,
  useReceiver,
} from "./endpoint.ts";

useReceiver();

const WEBHOOKS = "/v1/webhooks";
const OUT_OF_RANGE = [0, 7, -1, 1.5, 2 ** 53, "6", null, true, [1]];
const NEW = { url: URL_OF_RECEIVER, types: ["pet.created", "pet.updated"] };
let key: string;
let petsOnly: string;
beforeAll(async () => {
  key = await grantKey({ id: "key_0123456789ab" });
  petsOnly = await grantKey({ scopes: ["webhooks:manage", "pets:read"] });
});
beforeEach(async () => {
  await env.DB.exec("DELETE FROM webhooks");
  forgetEnabled();
});

const send = (method: string, path: string, body?: object, more: Call = {}) =>
  call(path, { method, key, ...(body && { body }), ...more });

interface Webhook {
  id: number;
  url: string;
  types: string[];
  enabled: boolean;
  disabledReason?: string;
}

/** Objects with these methods, by the name of their webhook. */
const objects = (getByName: (name: string) => { [method: string]: (name: string) => Promise<unknown> }) => ({
  WEBHOOKS: { getByName } as unknown as Env["WEBHOOKS"],
});

/** The object of a webhook. */
async function hookOf(id: number): Promise<Hook> {
  const name = env.DB.prepare("SELECT id || '-' || tag AS name FROM webhooks WHERE id = ?").bind(id);
  return new Hook((await name.first<string>("name")) ?? "");
}

/** Creates a webhook. Returns its path, and the object behind it. */
async function create(more: object = {}, owner = key) {
  const response = await send("POST", WEBHOOKS, { ...NEW, ...more }, { key: owner });
  const webhook = (await expectJson(response, 201)) as Webhook;
  return { path: `${WEBHOOKS}/${webhook.id}`, webhook, hook: await hookOf(webhook.id), response };
}

describe("createWebhook", () => {
  test("responds with the webhook, without secret, tag and place", async () => {
    const { response, path, webhook } = await create({
      url: "HTTPS://Hooks.Shop.com/pets",
      types: EVENT_TYPES,
      enabled: false,
      id: 77,
    });
    expect(response.headers.get("Location")).toBe(path);
    expect(response.headers.get("ETag")).toBe('"1"');
    expect(webhook).toEqual({
      id: expect.any(Number),
      url: URL_OF_RECEIVER,
      types: [...EVENT_TYPES],
      enabled: true,
      createdBy: "key_0123456789ab",
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      concurrency: 6,
    });
    expect(await expectJson(await send("GET", path), 200)).toEqual(webhook);
    expect(await expectJson(await send("GET", WEBHOOKS), 200)).toEqual([webhook]);
  });

  test.each<[name: string, body: object, message: string]>([
    ["no address", { types: NEW.types }, "url is required"],
    ["an address that is no text", { ...NEW, url: 1 }, "url has to be an https address"],
    ["an address of the loopback", { ...NEW, url: "https://0x7f.1/" }, "url has to be an https address"],
    ["an address with a port", { ...NEW, url: "https://hooks.shop.com:8443/" }, "url has to be"],
    ["no types", { url: NEW.url }, "types is required"],
    [
      "an empty list of types",
      { ...NEW, types: [] },
      "types has to be an array of 1 to 100 of pet.created, pet.updated, ",
    ],
    // The first is a repeated one.
    ...["pet.created", "pet.sold", "feed.reset", "pet.created ", "", null, 1, ["pet.updated"]]
      .flatMap((type) => [
        ["pet.created", type],
        [type, "pet.created"],
      ])
      .map((types): [string, object, string] => [JSON.stringify(types), { ...NEW, types }, "types has to be"]),
    ["types that are no list", { ...NEW, types: "pet.created" }, "types has to be"],
    ...OUT_OF_RANGE.map((concurrency): [string, object, string] => [
      `${String(concurrency)} attempts at once`,
      { ...NEW, concurrency },
      "concurrency has to be an integer from 1 to 6.",
    ]),
  ])("refuses %s", async (_name, body, message) => {
    expect(await expectError(await send("POST", WEBHOOKS, body), "invalid_request")).toContain(message);
    expect(await expectJson(await send("GET", WEBHOOKS), 200)).toEqual([]);
  });

  test.each(["POST", "PATCH"])("takes no address on this machine from a page of another site: %s", async (method) => {
    const path = method === "POST" ? WEBHOOKS : (await create()).path;
    const from = (Origin: string) =>
      send(method, path, { ...NEW, url: "http://127.0.0.1:8788/" }, { headers: { Origin } });
    await expectError(await from("https://evil.example"), "invalid_request");
    expect((await from("http://localhost:3000")).ok).toBe(true);
  });

  test.each([1, 6])("takes %i attempts at once", async (concurrency) => {
    expect((await create({ concurrency })).webhook).toMatchObject({ concurrency });
  });

  // Promise: scopes-of-webhooks
  test("needs the scope of each type", async () => {
    const orders = { ...NEW, types: ["pet.created", "order.placed"] };
    const response = await send("POST", WEBHOOKS, orders, { key: petsOnly });
    expect(response.headers.get("WWW-Authenticate")).toContain('scope="store:read"');
    await expectError(response, "insufficient_scope");
    expect((await send("POST", WEBHOOKS, NEW, { key: petsOnly })).status).toBe(201);
    expect((await send("POST", WEBHOOKS, orders)).status).toBe(201);
  });

  test("allows ten, also when requests race", async () => {
    const responses = await Promise.all(Array.from({ length: 14 }, () => send("POST", WEBHOOKS, NEW)));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = responses.filter(({ status }) => status !== 201);
    for (const response of refused) await expectError(response, "webhook_limit");
    expect(await expectJson(await send("GET", `${WEBHOOKS}?limit=100`), 200)).toHaveLength(10);
  });

  test("delivers what follows, and nothing from before", async () => {
    await addEvents([1]);
    const { hook } = await create();
    const sent = await addEvents([2], [3]);
    await runDurableObjectAlarm(hook.stub);
    expect(ids()).toEqual(sent);
  });

  // Promise: webhooks-outlive-their-key
  test("delivers on when the key that created it is gone", async () => {
    const owner = await grantKey();
    const { hook } = await create({}, owner);
    await env.API_KEYS.delete(await keyRecordName(owner));
    const sent = await addEvents([1]);
    await runDurableObjectAlarm(hook.stub);
    expect(ids()).toEqual(sent);
  });

  test("leaves no event", async () => {
    const before = await latest(key);
    const { path } = await create();
    await send("PATCH", path, { enabled: false });
    await send("DELETE", path);
    expect(await latest(key)).toBe(before);
  });
});

describe("updateWebhook", () => {
  test("changes address, types and whether it is enabled, and tells the object", async () => {
    const { path, webhook, hook } = await create();
    await hook.run();
    expect(await hook.alarm()).toBeGreaterThan(0);
    const response = await send("PATCH", path, { url: "https://other.shop.com", types: ["pet.deleted"] });
    expect(response.headers.get("ETag")).toBe('"2"');
    expect(await hook.alarm()).toBe(0);
    const changed = { ...webhook, url: "https://other.shop.com/", types: ["pet.deleted"] };
    expect(await expectJson(response, 200)).toEqual(changed);
    await addEvents([1], [2, 1, "pet.deleted"]);
    await hook.run();
    expect(received.map(({ url, resource }) => [url, resource])).toEqual([["https://other.shop.com/", 2]]);
    expect(await expectJson(await send("PATCH", path, { enabled: false }), 200)).toEqual({
      ...changed,
      enabled: false,
    });
    await hook.run();
    // It looks again in a minute, whether or not it is told.
    expect(await hook.alarm()).toBe(60 * SECOND);
    const same = await send("PATCH", path, { enabled: false });
    expect(same.headers.get("ETag")).toBe('"3"');
  });

  test("changes the number of attempts at once, alone and with others, without a scope of the types", async () => {
    const { path, webhook } = await create({ types: ["order.placed"] });
    const patch = async (body: object) => expectJson(await send("PATCH", path, body, { key: petsOnly }), 200);
    expect(await patch({ concurrency: 1 })).toEqual({ ...webhook, concurrency: 1 });
    expect(await patch({ enabled: false, concurrency: 2 })).toEqual({ ...webhook, enabled: false, concurrency: 2 });
    expect(await patch({})).toMatchObject({ concurrency: 2 });
    expect((await send("GET", path)).headers.get("ETag")).toBe('"3"');
  });

  test("that enables removes the reason", async () => {
    const { path, hook } = await create();
    await addEvents([1]);
    respond(() => 410);
    await hook.run();
    const gone = await send("GET", path);
    expect(gone.headers.get("ETag")).toBe('"2"');
    const webhook = await expectJson(gone, 200);
    expect(webhook).toMatchObject({ enabled: false, disabledReason: "gone" });
    const listed = await send("GET", `${WEBHOOKS}?include=version`);
    expect(await expectJson(listed, 200)).toEqual([{ ...(webhook as Webhook), version: 2 }]);
    const { disabledReason } = (await expectJson(await send("PATCH", path, { enabled: false }), 200)) as Webhook;
    expect(disabledReason).toBe("gone");
    const enabled = (await expectJson(await send("PATCH", path, { enabled: true }), 200)) as Webhook;
    expect(enabled).toMatchObject({ enabled: true });
    expect(enabled).not.toHaveProperty("disabledReason");
  });

  test.each([
    [{ url: "http://hooks.shop.com/" }],
    [{ types: [] }],
    [{ enabled: 1 }],
    [{ url: null }],
    [{ types: null }],
    ...OUT_OF_RANGE.map((concurrency): [object] => [{ concurrency }]),
  ])("refuses %j", async (body: object) => {
    const { path } = await create();
    await expectError(await send("PATCH", path, body), "invalid_request");
  });

  // Promise: scopes-of-webhooks
  test("needs the scopes of the types that the webhook then has, except to disable it", async () => {
    const { path } = await create({ types: ["order.placed", "pet.created"] });
    const patch = (body: object) => send("PATCH", path, body, { key: petsOnly });
    for (const body of [{ url: "https://other.shop.com/" }, { enabled: true }, { types: ["order.shipped"] }]) {
      const response = await patch(body);
      expect(response.headers.get("WWW-Authenticate")).toContain('scope="store:read"');
      await expectError(response, "insufficient_scope");
    }
    expect((await patch({ enabled: false })).status).toBe(200);
    await expectError(await patch({ enabled: true }), "insufficient_scope");
    // Without the types that it may not read, it may.
    expect((await patch({ enabled: true, types: ["pet.created"] })).status).toBe(200);
    expect((await patch({ url: "https://other.shop.com/" })).status).toBe(200);
    expect((await send("DELETE", path, undefined, { key: petsOnly })).status).toBe(204);
  });

  test("takes preconditions", async () => {
    const { path } = await create();
    const patch = (version: number) =>
      send("PATCH", path, { enabled: false }, { headers: { "If-Match": `"${version}"` } });
    await expectError(await patch(2), "precondition_failed");
    expect((await patch(1)).status).toBe(200);
    const remove = (version: number) => send("DELETE", path, undefined, { headers: { "If-Match": `"${version}"` } });
    await expectError(await remove(1), "precondition_failed");
    expect((await remove(2)).status).toBe(204);
  });
});

test("a webhook that was deleted has no object to ask", async () => {
  const { path, hook } = await create();
  expect((await send("DELETE", path)).status).toBe(204);
  await expectError(await send("DELETE", path), "not_found");
  await expectError(await send("GET", `${path}/secret`), "not_found");
  // It was told.
  expect(await hook.alarm()).toBe(0);
});

describe("the secret", () => {
  test("comes from two operations only, and signs", async () => {
    const { path, hook } = await create();
    const { secret } = (await expectJson(await send("GET", `${path}/secret`), 200)) as { secret: string };
    expect(secret).toBe(await hook.stub.secret(hook.name));
    const { secret: next } = (await expectJson(await send("POST", `${path}/rotate-secret`), 200)) as { secret: string };
    expect(next).not.toBe(secret);
    expect(
      await expectJson(
        await send("GET", `${path}/secret`, undefined, { headers: { "Cache-Control": "max-age=60" } }),
        200,
      ),
    ).toEqual({ secret: next });
    for (const other of ["", "/state", "/deliveries"])
      expect(await (await send("GET", path + other)).text()).not.toContain("whsec_");
    await addEvents([1]);
    await hook.run();
    const [{ id, at, body, init } = expect.unreachable()] = received;
    const signatures = await sign([next, secret], id, at / SECOND, body);
    expect(new Headers(init.headers).get("webhook-signature")).toBe(signatures);
  });

  test("is in no table, line of the log or error, after rotations with an Idempotency-Key and failures", async () => {
    const headers = { "Idempotency-Key": "one" };
    expect((await send("POST", WEBHOOKS, NEW, { headers })).status).toBe(201);
    const { path, hook } = await create();
    const secrets = [await hook.stub.secret(hook.name)];
    for (let count = 0; count < 2; count++) {
      const rotation = await send("POST", `${path}/rotate-secret`, undefined, { headers });
      secrets.push(((await expectJson(rotation, 200)) as { secret: string }).secret);
    }
    expect(new Set(secrets).size).toBe(3);
    const [, , secret = ""] = secrets;
    await addEvents([1], [2]);
    respond(({ resource }) => (resource === 1 ? 500 : new Error(`refused ${secret}`)));
    await hook.run();
    const errors = await Promise.all([
      send("POST", WEBHOOKS, { ...NEW, url: secret }),
      send("POST", WEBHOOKS, { ...NEW, types: [secret] }),
      send("PATCH", path, { url: `https://user:${secret}@hooks.shop.com/` }),
      send("PATCH", path, { enabled: secret }),
      send("DELETE", path, undefined, { headers: { "If-Match": `"${secret}"` } }),
      send("POST", `${path}/replay`, { cursor: secret }),
      send("GET", `${path}/deliveries?cursor=${secret}`),
      send("GET", `${path}/secret/${secret}`),
    ]);
    const bodies = await Promise.all(errors.map((response) => response.text()));
    expect(errors.filter(({ status }) => status < 400)).toEqual([]);
    const { results: names } = await env.DB.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    ).all<{ name: string }>();
    const tables = await env.DB.batch(names.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)));
    const rows = tables.flatMap(({ results }) => results.map((row) => JSON.stringify(row)));
    expect(rows.filter((row) => row.includes(URL_OF_RECEIVER))).not.toHaveLength(0);
    expect(lines.filter((line) => line.includes("a delivery did not succeed"))).toHaveLength(1);
    const everything = [...rows, ...lines, ...bodies].join("\n");
    for (const text of ["whsec_", ...secrets.map((one) => one.slice(6))]) expect(everything).not.toContain(text);
  });
});

describe("testWebhook", () => {
  test("says how the receiver responded, also of a disabled webhook", async () => {
    const { path } = await create();
    await send("PATCH", path, { enabled: false });
    expect(await expectJson(await send("POST", `${path}/test`), 200)).toEqual({ response: 204, milliseconds: 0 });
    const [{ id, body } = expect.unreachable()] = received;
    expect(id).toMatch(/^msg_[0-9A-Za-z_-]{22}$/);
    expect(JSON.parse(body)).toEqual({ id, type: "webhook.test", timestamp: new Date().toISOString(), data: {} });
    respond(() => new Error("refused"));
    expect(await expectJson(await send("POST", `${path}/test`), 200)).toEqual({ error: "connection", milliseconds: 0 });
    vi.spyOn(globalThis, "setTimeout").mockImplementation((run) => (run(), 0));
    expect(await expectJson(await send("POST", `${path}/test`), 200)).toEqual({ error: "timeout", milliseconds: 0 });
    expect(await expectJson(await send("GET", `${path}/deliveries`), 200)).toEqual([]);
  });

  // Promise: tests-are-limited
  // Promise: ten-tests
  test("takes ten within a minute, and says when the next one may begin", async () => {
    const { path } = await create();
    const sendTest = () => send("POST", `${path}/test`);
    const refused = async () => {
      const response = await sendTest();
      await expectError(response, "rate_limited");
      return Number(response.headers.get("Retry-After"));
    };
    for (let count = 0; count < 10; count++) {
      await expectJson(await sendTest(), 200);
      pass(1_500);
    }
    expect(await refused()).toBe(45);
    pass(44_999);
    expect(await refused()).toBe(1);
    pass(1);
    await expectJson(await sendTest(), 200);
    // The second one is a minute ago 1,500 milliseconds later.
    expect(await refused()).toBe(2);
    pass(-HOUR);
    await expectJson(await sendTest(), 200);
  });

  // Promise: 410-disables
  test("waits for a test that runs, 15 seconds at most, and whose 410 disables nothing", async () => {
    const { path } = await create();
    const gate = { isOpen: false };
    respond(async () => {
      while (!gate.isOpen) await scheduler.wait(1);
      return 410;
    });
    const running = send("POST", `${path}/test`);
    await expect.poll(() => received.length).toBeGreaterThan(0);
    pass(4_000);
    const response = await send("POST", `${path}/test`);
    expect(response.headers.get("Retry-After")).toBe("11");
    await expectError(response, "rate_limited");
    gate.isOpen = true;
    expect(await expectJson(await running, 200)).toMatchObject({ response: 410 });
    expect(await expectJson(await send("GET", path), 200)).toMatchObject({ enabled: true });
  });
});

test("a creation and a test count as ten requests of their key, and others as one", async () => {
  let count = 0;
  const RATE_LIMITER = { limit: async () => ({ success: ++count > 0 }) };
  const counted = async (method: string, path: string, body?: object) => {
    count = 0;
    const { ok } = await send(method, path, body, { bindings: { RATE_LIMITER } });
    return [ok, count];
  };
  expect(await counted("POST", WEBHOOKS, NEW)).toEqual([true, 10]);
  const { path } = await create();
  expect(await counted("POST", `${path}/test`)).toEqual([true, 10]);
  expect(await counted("GET", path)).toEqual([true, 1]);
  expect(await counted("DELETE", path)).toEqual([true, 1]);
});

describe("replayWebhook", () => {
  // Promise: replays
  test("delivers again from a cursor of the feed", async () => {
    const { path, hook } = await create();
    await addEvents([1]);
    const cursor = await latest(key);
    const sent = await addEvents([2], [3]);
    await hook.run();
    const end = await latest(key);
    const state = await expectJson(await send("POST", `${path}/replay`, { cursor }), 200);
    expect(state).toMatchObject({ health: "ok", pending: 0, cursor: end, replay: { cursor, end } });
    await expectError(await send("POST", `${path}/replay`, { cursor }), "replay_running");
    await hook.pass(0);
    expect(ids().slice(3)).toEqual(sent);
  });

  // Promise: latest-skips
  test("goes to the present end with latest, and drops what waits", async () => {
    const { path, hook } = await create();
    respond(() => 500);
    await addEvents(...events(3));
    await hook.run();
    const from = await latest(key);
    await addEvents([9]);
    const state = await expectJson(await send("POST", `${path}/replay`, { cursor: "latest" }), 200);
    const to = await latest(key);
    expect(state).toMatchObject({ cursor: to, pending: 0, skipped: { from, to } });
    await hook.leap(HOUR);
    expect(received).toHaveLength(3);
  });

  test("is refused for a disabled webhook, a place that is gone, and no cursor", async () => {
    const { path } = await create();
    await addEvents([1]);
    const cursor = await latest(key);
    await env.DB.exec("DELETE FROM events WHERE id = (SELECT max(id) FROM events)");
    await expectError(await send("POST", `${path}/replay`, { cursor }), "cursor_expired");
    for (const body of [{}, { cursor: "first" }, { cursor: `${cursor.slice(0, -1)}x` }])
      await expectError(await send("POST", `${path}/replay`, body), "invalid_request");
    await send("PATCH", path, { enabled: false });
    await expectError(await send("POST", `${path}/replay`, { cursor: "latest" }), "webhook_disabled");
  });
});

// Promise: one-replay
test("stopReplay stops it, and is 204 when none runs, too", async () => {
  const { path, hook } = await create();
  const cursor = await latest(key);
  await addEvents([1]);
  await hook.run();
  await send("POST", `${path}/replay`, { cursor });
  for (let count = 0; count < 2; count++) {
    const response = await send("DELETE", `${path}/replay`);
    expect([response.status, await response.text()]).toEqual([204, ""]);
  }
  await hook.pass(SECOND);
  expect(received).toHaveLength(1);
});

describe("listDeliveries", () => {
  // Promise: deliveries-are-listed
  test("has pages with the newest first, and a filter", async () => {
    const { path, hook } = await create();
    const sent = await addEvents(...events(25));
    const answers = new Map<unknown, number | Error>([
      [10, 500],
      [20, new Error("connection refused")],
    ]);
    respond(({ resource }) => answers.get(resource) ?? 204);
    await hook.run();
    const found: { event: string; status: string }[] = [];
    let next: string | undefined = `${path}/deliveries?limit=4`;
    while (next !== undefined) {
      const response = await send("GET", next);
      found.push(...((await expectJson(response, 200)) as typeof found));
      next = /<https:\/\/[^/]+([^>]+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
    }
    expect(found.map(({ event }) => event).toSorted()).toEqual(sent);
    expect(found.map(({ status }) => status)).toEqual([
      "pending",
      "pending",
      ...Array.from({ length: 23 }, () => "delivered"),
    ]);
    const attempted = { type: "pet.updated", attempts: 1, lastAttemptAt: new Date().toISOString() };
    const pending = { ...attempted, status: "pending", nextAttemptAt: expect.any(String) };
    expect(found.slice(0, 3)).toEqual([
      { ...pending, event: sent[19], error: "connection" },
      { ...pending, event: sent[9], response: 500 },
      { ...attempted, status: "delivered", event: expect.any(String), response: 204 },
    ]);
    const waiting = await expectJson(await send("GET", `${path}/deliveries?status=pending`), 200);
    expect(waiting).toEqual(found.slice(0, 2));
    expect(await expectJson(await send("GET", `${path}/deliveries?status=failed`), 200)).toEqual([]);
  });

  test.each(["limit=0", "limit=101", "status=lost", "cursor=x", "cursor=f000000000000000100000000", "sort=id"])(
    "refuses %s",
    async (query) => {
      const { path } = await create();
      await expectError(await send("GET", `${path}/deliveries?${query}`), "invalid_request");
    },
  );
});

test("an object that does not answer is 503, and the operations of the database go on", async () => {
  const { path } = await create();
  const bindings = objects(() => ({ state: () => Promise.reject(new Error("The object is overloaded")) }));
  await expectError(await send("GET", `${path}/state`, undefined, { bindings }), "service_unavailable");
  // Promise: an-unknown-outcome
  for (const [method, below, wait] of [
    ["GET", "state", "5"],
    ["GET", "secret", "5"],
    ["DELETE", "replay", null],
    ["POST", "test", null],
    ["POST", "rotate-secret", null],
    ["POST", "replay", null],
  ] as const) {
    const body = below === "replay" && method === "POST" ? { cursor: "latest" } : undefined;
    const response = await send(method, `${path}/${below}`, body, { bindings });
    expect(response.headers.get("Retry-After"), below).toBe(wait);
    expect(await expectError(response, "service_unavailable")).toContain(wait === null ? "is unknown" : "Try again");
  }
  expect((await send("HEAD", `${path}/state`, undefined, { bindings })).headers.get("Retry-After")).toBe("5");
  for (const [method, body] of [["GET"], ["PATCH", { enabled: false }], ["DELETE"]] as const)
    expect((await send(method, path, body, { bindings })).ok).toBe(true);
  expect((await send("POST", WEBHOOKS, NEW, { bindings })).status).toBe(201);
});

describe("a change of the configuration", () => {
  const CHANGES = [
    ["POST", NEW],
    ["PATCH", { enabled: false }],
    ["DELETE", undefined],
  ] as const;
  /** The status of the response, which waits for nothing that comes after it. */
  async function statusOf(method: string, body: object | undefined, changed: (name: string) => Promise<void>) {
    const { path, hook } = await create();
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const url = `https://pets.example${method === "POST" ? WEBHOOKS : path}`;
    const request = new Request(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const context = { waitUntil: () => {} } as unknown as ExecutionContext;
    const bindings = { ...env, ...objects(() => ({ changed, nudge: async () => {} })) };
    return { name: hook.name, status: (await createApp().fetch(request, bindings, context)).status };
  }

  test.each(CHANGES)("reaches the object before the response: %s", async (method, body) => {
    const told: string[] = [];
    const { name, status } = await statusOf(method, body, async (known) => {
      await scheduler.wait(20);
      told.push(known);
    });
    expect([status < 300, told.length]).toEqual([true, 1]);
    // A creation has another one.
    expect(told[0] === name).toBe(method !== "POST");
  });

  test.each(CHANGES)("does not wait long for an object that does not answer: %s", async (method, body) => {
    const wait = setTimeout;
    const set = vi.spyOn(globalThis, "setTimeout");
    // Five seconds end at once.
    set.mockImplementation(((run: () => void, after: number) =>
      after === 5 * SECOND ? run() : wait(run, after)) as typeof setTimeout);
    const { promise: never } = Promise.withResolvers<void>();
    expect((await statusOf(method, body, () => never)).status).toBeLessThan(300);
  });

  test.each([
    ["PATCH", "a second run of the service", 200],
    ["DELETE", "ten seconds", 404],
  ])("whose answer D1 lost ends the deliveries of a run: %s, after %s", async (method, _what, status) => {
    const { path, hook } = await create({ concurrency: 1 });
    await addEvents(...events(40));
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    respond(async ({ resource }) => {
      if (resource === 3) await answered;
      return 204;
    });
    const run = hook.run();
    await expect.poll(() => received).toHaveLength(3);
    let isLost = false;
    const DB = wrappedDatabase(async (change, statements) => {
      const results = await change();
      if (isLost || !statements.some(({ sql }) => /^(?:update|delete from) "?webhooks/i.test(sql))) return results;
      isLost = true;
      throw new Error("D1_ERROR: Network connection lost.");
    });
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const body = method === "PATCH" ? { enabled: false } : undefined;
    const change = () => send(method, path, body, { bindings: { DB }, ...(body && { headers }) });
    if (method === "DELETE") expect((await change()).status).toBe(503);
    expect((await change()).status).toBe(status);
    expect(isLost).toBe(true);
    if (method === "DELETE") pass(10 * SECOND);
    answer();
    await run;
    expect(received).toHaveLength(3);
  });

  test("reaches the object with a retry of the creation, and keeps its bookmark", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const failing = { bindings: { WEBHOOKS: {} as Env["WEBHOOKS"] } };
    const first = await send("POST", WEBHOOKS, NEW, { headers, ...failing });
    expect(first.status).toBe(201);
    expect(first.headers.has("x-d1-bookmark")).toBe(true);
    const hook = await hookOf((await first.json<Webhook>()).id);
    expect(await hook.alarm()).toBeUndefined();
    const retry = await send("POST", WEBHOOKS, NEW, { headers });
    expect(retry.headers.get("Idempotency-Replayed")).toBe("true");
    expect(await hook.alarm()).toBe(0);
  });
});

describe("the nudge", () => {
  const createPet = (more: Call = {}) => send("POST", "/v1/pets", { name: "Rex", categoryId: 1 }, more);
  /** Counts the reads of the list, and the nudges of each object. */
  function observed() {
    const reads: string[] = [];
    const nudges: string[] = [];
    const DB = new Proxy(env.DB, {
      get(target, property) {
        if (property !== "prepare") {
          const value: unknown = Reflect.get(target, property);
          return typeof value === "function" ? value.bind(target) : value;
        }
        return (sql: string) => {
          if (sql.includes("webhooks")) reads.push(sql);
          return target.prepare(sql);
        };
      },
    });
    const nudged = objects((name) => ({ nudge: async () => void nudges.push(name), changed: async () => {} }));
    return { reads, nudges, bindings: { DB, ...nudged } };
  }

  test("comes with a change, and the event arrives", async () => {
    const { hook } = await create();
    await hook.run();
    await hook.pass(30 * SECOND);
    await createPet();
    expect(await hook.alarm()).toBe(0);
    await runDurableObjectAlarm(hook.stub);
    expect(received.map(({ type }) => type)).toEqual(["pet.created"]);
  });

  test("comes once a second from an isolate, and the list is read every ten seconds", async () => {
    const { reads, nudges, bindings } = observed();
    // A store without webhooks pays for the list alone.
    for (let count = 0; count < 5; count++) await createPet({ bindings });
    expect([reads.length, nudges.length]).toEqual([1, 0]);
    const { hook } = await create();
    forgetEnabled();
    reads.length = 0;
    for (let count = 0; count < 5; count++) await createPet({ bindings });
    expect([reads.length, nudges.length]).toEqual([1, 1]);
    vi.setSystemTime(Date.now() + SECOND);
    for (let count = 0; count < 5; count++) await createPet({ bindings });
    expect([reads.length, nudges]).toEqual([1, [hook.name, hook.name]]);
    vi.setSystemTime(Date.now() + REMEMBERED);
    await createPet({ bindings });
    expect([reads.length, nudges.length]).toEqual([2, 3]);
  });

  test("comes after no read, no failure, and to no disabled webhook", async () => {
    const { path } = await create();
    forgetEnabled();
    const { reads, nudges, bindings } = observed();
    await send("GET", "/v1/pets", undefined, { bindings });
    await send("POST", "/v1/pets", { name: "" }, { bindings });
    expect([reads.length, nudges.length]).toEqual([0, 0]);
    await send("PATCH", path, { enabled: false });
    forgetEnabled();
    await createPet({ bindings });
    expect(nudges).toEqual([]);
  });

  test("that fails changes no response", async () => {
    await create();
    forgetEnabled();
    const bindings = objects(() => {
      throw new Error("no object");
    });
    expect((await createPet({ bindings })).status).toBe(201);
    forgetEnabled();
    const DB = { ...observed().bindings.DB, withSession: env.DB.withSession.bind(env.DB) } as unknown as D1Database;
    expect((await createPet({ bindings: { DB } })).status).toBe(201);
  });

  test("comes with the next change after a read of the list that failed", async () => {
    const { hook } = await create();
    const { nudges, bindings } = observed();
    forgetEnabled();
    const prepare = vi.spyOn(bindings.DB, "prepare").mockImplementation(() => {
      throw new Error("Network connection lost.");
    });
    await createPet({ bindings });
    prepare.mockRestore();
    expect(nudges).toEqual([]);
    await createPet({ bindings });
    expect(nudges).toEqual([hook.name]);
  });

  test("comes every hour to each enabled webhook", async () => {
    const [one, other] = [await create(), await create()];
    await send("PATCH", other.path, { enabled: false });
    for (const { hook } of [one, other]) await hook.run();
    await one.hook.pass(30 * SECOND);
    const context = createExecutionContext();
    await worker.scheduled(createScheduledController(), env);
    await waitOnExecutionContext(context);
    expect(await one.hook.alarm()).toBe(0);
    expect(await other.hook.alarm()).toBe(30 * SECOND);
  });
});

// The version of a webhook tells nothing of these, so a condition on it cannot hold.
// Promise: preconditions-elsewhere
test.each(OPERATIONS.filter(({ template }) => template.includes("}/")))(
  "$name, a part of a webhook, takes no preconditions",
  async ({ template, request }) => {
    const { path, hook } = await create();
    const secret = await hook.stub.secret(hook.name);
    for (const header of ["If-Match", "If-None-Match"]) {
      const part = template.replace("/v1/webhooks/{webhookId}", path);
      const response = await call(part, { ...request, key, headers: { [header]: '"9"' } });
      expect(await expectError(response, "invalid_request")).toBe(
        "If-Match and If-None-Match are for one resource: this part of a webhook has no version.",
      );
    }
    expect([await hook.stub.secret(hook.name), received]).toEqual([secret, []]);
  },
);
