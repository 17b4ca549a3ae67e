import { runInNewContext } from "node:vm";
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { verifyWebhook, WebhookVerificationError } from "../../../client/src/index.ts";
import { fakeService, json } from "./fake-service.ts";

const WEBHOOK =
  '{"id":9007199254740993,"url":"https://hooks.shop.com/","types":["pet.created"],"enabled":true,"createdBy":"key_1","createdAt":"2026-11-22T08:30:00.000Z","concurrency":6}';
const STATE = { health: "ok", pending: 0, cursor: "0".repeat(32), resets: 0 };
const DELIVERY = { event: "evt_1", type: "pet.created", status: "delivered", attempts: 1, response: 204 };

// Promise: resource-methods
test("a webhook has an exact id and its version", async () => {
  const { store, sent } = fakeService([json(201, WEBHOOK, { ETag: '"1"' })]);
  const created = await store.webhooks.create({ url: "https://hooks.shop.com/", types: ["pet.created"] });
  expect(created).toEqual({
    webhook: { ...JSON.parse(WEBHOOK), id: 9007199254740993n },
    etag: '"1"',
    replayed: false,
    warnings: [],
  });
  expect(sent[0]?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
});

// Promise: what-methods-return
test("the operations below a webhook return what the service says", async () => {
  const ask = (value: object) => fakeService([json(200, JSON.stringify(value))]);
  const state = ask(STATE);
  expect(await state.store.webhooks.state(1)).toEqual(STATE);
  const secret = ask({ secret: "whsec_1" });
  expect(await secret.store.webhooks.secret(1n)).toBe("whsec_1");
  expect(await secret.store.webhooks.rotateSecret("1")).toBe("whsec_1");
  expect(await ask({ error: "timeout", milliseconds: 15_000 }).store.webhooks.test(1)).toEqual({
    error: "timeout",
    milliseconds: 15_000,
  });
  const replaying = { ...STATE, replay: { cursor: STATE.cursor, end: "1".repeat(32) } };
  const replay = ask(replaying);
  expect(await replay.store.webhooks.replay(1, "latest")).toEqual(replaying);
  expect(replay.sent[0]?.body).toBe('{"cursor":"latest"}');
  const stop = fakeService([json(204, "")]);
  expect(await stop.store.webhooks.stopReplay(1)).toBeUndefined();
});

test("a webhook whose response was stored before there were attempts at once is one too", async () => {
  const { concurrency, ...before } = JSON.parse(WEBHOOK) as { concurrency: number };
  const { store } = fakeService([json(201, JSON.stringify({ ...before, id: 1 }), { ETag: '"1"' })]);
  const { webhook } = await store.webhooks.create({ url: "https://hooks.shop.com/", types: ["pet.created"] });
  expect([concurrency, webhook.concurrency]).toEqual([6, undefined]);
});

test("the deliveries have pages", async () => {
  const link = '<https://petstore.test/v1/webhooks/1/deliveries?limit=1&cursor=f1>; rel="next"';
  const { store, sent } = fakeService([
    json(200, JSON.stringify([DELIVERY]), { Link: link }),
    json(200, JSON.stringify([DELIVERY])),
  ]);
  const { deliveries, cursor } = await store.webhooks.deliveries(1, { status: "delivered", limit: 1 });
  expect([deliveries, cursor]).toEqual([[DELIVERY], "f1"]);
  expect((await store.webhooks.deliveries(1, { cursor })).cursor).toBeUndefined();
  expect(sent.map(({ path }) => path)).toEqual([
    "/webhooks/1/deliveries?status=delivered&limit=1",
    "/webhooks/1/deliveries?cursor=f1",
  ]);
});

describe("verifyWebhook", () => {
  const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  const OTHER = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const BODY =
    '{"id":"evt_00000000000000025d41402a","type":"pet.created","timestamp":"2026-11-22T08:30:00.000Z","version":1,"data":{"id":1,"name":"Max","categoryId":7,"status":"available"}}';
  const HEADERS = {
    "webhook-id": "evt_00000000000000025d41402a",
    "webhook-timestamp": "1795336201",
    "webhook-signature": "v1,/GtHdpFGtpsrMvqB3WGcJj8pkHIjgmmNji3lYcJnHyo=",
  };
  const now = 1_795_336_201_000;
  const sign = (body: string | Buffer, secret = SECRET) =>
    `v1,${createHmac("sha256", Buffer.from(secret.slice(6), "base64"))
      .update(`${HEADERS["webhook-id"]}.${HEADERS["webhook-timestamp"]}.`)
      .update(body)
      .digest("base64")}`;
  const codeOf = async (run: Promise<unknown>) => {
    const thrown = await run.catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(WebhookVerificationError);
    return (thrown as WebhookVerificationError).code;
  };

  test("takes header names in any case", async () => {
    const titled = { "Webhook-Id": HEADERS["webhook-id"], "WEBHOOK-TIMESTAMP": HEADERS["webhook-timestamp"] };
    const headers = { ...titled, "Webhook-Signature": HEADERS["webhook-signature"] };
    expect(await verifyWebhook(BODY, headers, SECRET, { now })).toMatchObject({ type: "pet.created" });
  });

  test("returns the event of the example", async () => {
    const event = { ...JSON.parse(BODY), data: { id: 1n, name: "Max", categoryId: 7n, status: "available" } };
    const bytes = new TextEncoder().encode(BODY);
    const part = new Uint8Array([0, ...bytes, 0]).subarray(1, -1);
    // An ArrayBuffer of another realm, as a test runner may make it.
    const foreign = runInNewContext("Uint8Array.from(bytes).buffer", { bytes: [...bytes] }) as ArrayBuffer;
    for (const body of [BODY, bytes, Buffer.from(BODY), part, bytes.buffer, foreign]) {
      for (const headers of [HEADERS, new Headers(HEADERS)])
        expect(await verifyWebhook(body, headers, SECRET, { now })).toEqual(event);
    }
  });

  test.each([
    [JSON.parse(BODY)],
    [[...Buffer.from(BODY)]],
    [Buffer.from(BODY).toJSON()],
    [new Blob([BODY])],
    [new Response(BODY)],
    [5],
    [null],
    [undefined],
  ])("asks for the body as it was received, instead of %s", async (body) => {
    for (const headers of [HEADERS, {}])
      await expect(verifyWebhook(body as string, headers, SECRET, { now })).rejects.toThrow(
        new TypeError("The body has to be as it was received, a text or bytes, before any parser."),
      );
  });

  test("returns what was signed, also when the buffer gets another body meanwhile", async () => {
    const buffer = Buffer.from(BODY);
    const verifying = verifyWebhook(buffer, HEADERS, SECRET, { now });
    buffer.write(BODY.replace("Max", "Eve"));
    expect(await verifying).toMatchObject({ data: { name: "Max" } });
  });

  test("accepts each of two signatures, and each of two secrets", async () => {
    const both = { ...HEADERS, "webhook-signature": `v1,AAAA v2,x ${HEADERS["webhook-signature"]}` };
    for (const secrets of [SECRET, [OTHER, SECRET], [SECRET, OTHER]])
      expect(await verifyWebhook(BODY, both, secrets, { now })).toMatchObject({ type: "pet.created" });
  });

  test("returns the exact integers of an event", async () => {
    const body = '{"id":"evt_1","data":{"id":9007199254740993}}';
    const headers = { ...HEADERS, "webhook-signature": sign(body) };
    expect(await verifyWebhook(body, headers, SECRET, { now })).toEqual({
      id: "evt_1",
      data: { id: 9007199254740993n },
    });
  });

  test.each(Object.keys(HEADERS))("refuses a request without %s", async (name) => {
    const { [name as keyof typeof HEADERS]: _, ...rest } = HEADERS;
    expect(await codeOf(verifyWebhook(BODY, rest, SECRET, { now }))).toBe("missing_header");
    expect(await codeOf(verifyWebhook(BODY, { ...HEADERS, [name]: "" }, SECRET, { now }))).toBe("missing_header");
  });

  test.each(["soon", "1e9", "-1", "1795336201.5", " 1795336201", "9".repeat(16)])(
    "refuses the time %j",
    async (time) => {
      const headers = { ...HEADERS, "webhook-timestamp": time };
      expect(await codeOf(verifyWebhook(BODY, headers, SECRET, { now }))).toBe("invalid_timestamp");
    },
  );

  test("refuses a time that differs by more than the tolerance", async () => {
    const at = (seconds: number, tolerance?: number) =>
      verifyWebhook(BODY, HEADERS, SECRET, { now: now + seconds * 1_000, tolerance });
    for (const seconds of [300, -300]) expect(await at(seconds)).toMatchObject({ type: "pet.created" });
    expect(await codeOf(at(301))).toBe("too_old");
    expect(await codeOf(at(-301))).toBe("too_new");
    expect(await codeOf(at(2, 1))).toBe("too_old");
    expect(await codeOf(at(0, Number.NaN))).toBe("too_old");
    expect(await codeOf(verifyWebhook(BODY, HEADERS, SECRET))).toMatch(/^too_/);
  });

  test.each(["", "whsec_", "whsec_%", "§"])("does not take %j for a secret", async (secret) => {
    await expect(verifyWebhook(BODY, HEADERS, secret, { now })).rejects.toThrow(TypeError);
  });

  test.each<[string, Partial<typeof HEADERS>, string?, string?]>([
    ["another body", {}, `${BODY} `],
    ["another id", { "webhook-id": "evt_2" }],
    ["another time", { "webhook-timestamp": "1795336202" }],
    ["another secret", {}, BODY, OTHER],
    ["no version", { "webhook-signature": HEADERS["webhook-signature"].slice(3) }],
    ["another version", { "webhook-signature": `v1a,${HEADERS["webhook-signature"].slice(3)}` }],
    ["an empty signature", { "webhook-signature": "v1," }],
    ["a signature that is no base64", { "webhook-signature": "v1,%" }],
    ["half a signature", { "webhook-signature": HEADERS["webhook-signature"].slice(0, 20) }],
  ])("refuses %s", async (_name, headers, body = BODY, secret = SECRET) => {
    expect(await codeOf(verifyWebhook(body, { ...HEADERS, ...headers }, secret, { now }))).toBe("no_match");
    expect(await codeOf(verifyWebhook(body, { ...HEADERS, ...headers }, [], { now }))).toBe("no_match");
  });
});
