import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { deliver, TIMEOUT } from "../../src/webhooks/engine/delivery.ts";
import { MAX_PENDING } from "../../src/webhooks/engine/ledger.ts";
import { FEW } from "../../src/webhooks/engine/plan.ts";
import { sign } from "../../src/webhooks/engine/signing.ts";
import { latest, page } from "../events/feed.ts";
import { grantKey } from "../support/keys.ts";
import {
  addEvents,
  addHook,
  atOnce,
  events,
  forget,
  Hook,
  hookWith,
  ids,
  lines,
  MINUTE,
  received,
  respond,
  SECOND,
  URL_OF_RECEIVER,
  versions,
  useReceiver,
} from "./endpoint.ts";

useReceiver();

const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/** Requests end when the test lets them. They ask again and again: a promise of the test would belong to another object. */
function held() {
  const ended = new Set<string>();
  respond(async ({ id }) => {
    while (!ended.has(id)) await scheduler.wait(1);
    return 204;
  });
  return (index: number) => void ended.add(received[index]?.id ?? "");
}

describe("a delivery", () => {
  test("is one POST with the event as the feed has it", async () => {
    const key = await grantKey();
    const end = await latest(key);
    const {
      hook,
      sent: [id],
    } = await hookWith([7, 3]);
    const { events } = await page(key, `cursor=${end}`);
    await hook.run();
    expect(received).toHaveLength(1);
    const [{ url, init, body } = expect.unreachable()] = received;
    expect(url).toBe(URL_OF_RECEIVER);
    expect(body).toBe(JSON.stringify(events.at(-1)));
    const secret = await hook.stub.secret(hook.name);
    const seconds = Date.now() / 1_000;
    expect(init).toEqual({
      method: "POST",
      redirect: "manual",
      signal: expect.any(AbortSignal),
      body,
      headers: {
        "content-type": "application/json",
        "user-agent": "PetStore-Webhooks/1",
        "webhook-id": id,
        "webhook-timestamp": String(seconds),
        "webhook-signature": await sign([secret], id ?? "", seconds, body),
      },
    });
  });

  // Promise: signatures, webhook-id
  test("is signed as in the example of the page", async () => {
    const body = `{"id":"evt_00000000000000025d41402a","type":"pet.created","timestamp":"2026-11-22T08:30:00.000Z","version":1,"data":{"id":1,"name":"Max","categoryId":7,"status":"available"}}`;
    expect(body).toHaveLength(174);
    expect(await sign([SECRET], "evt_00000000000000025d41402a", 1_795_336_201, body)).toBe(
      "v1,/GtHdpFGtpsrMvqB3WGcJj8pkHIjgmmNji3lYcJnHyo=",
    );
  });

  test("keeps the exact id of a resource", async () => {
    const hook = await addHook();
    await env.DB.prepare(
      "INSERT INTO events (tag, type, version, data, created_at) VALUES (1, 'pet.updated', 1, '{\"id\":9007199254740993}', '')",
    ).run();
    respond(() => 500);
    await hook.run();
    expect(received[0]?.body).toContain('"data":{"id":9007199254740993}');
    expect(await hook.rows("SELECT resource FROM pending")).toEqual([{ resource: "pet.9007199254740993" }]);
  });

  // Promise: 2xx-is-success, 410-disables, addresses, any-other-status, numbers-of-webhooks
  test.each([
    ...[200, 201, 204, 299].map((status) => [status, "delivered"] as const),
    ...[301, 307, 400, 404, 500, 503, 520, 530].map((status) => [status, "pending"] as const),
  ])("with the response %i is %s", async (response, status) => {
    const { hook } = await hookWith([1]);
    const headers = { Location: "https://hooks.shop.com/other" };
    respond(() => new Response(response === 204 ? null : "text", { status: response, headers }));
    await hook.run();
    expect(received).toHaveLength(1);
    const { health, pending, lastSuccessAt } = await hook.state();
    const isTaken = status === "delivered";
    expect({ health, pending, isTaken: lastSuccessAt !== undefined }).toEqual({
      health: "ok",
      pending: isTaken ? 0 : 1,
      isTaken,
    });
    const [delivery] = await hook.deliveries();
    expect(delivery).toMatchObject({ status, attempts: 1, response });
    expect(delivery).not.toHaveProperty("error");
  });

  // Promise: 2xx-is-success, numbers-of-webhooks
  test("that is refused before a response is a connection error, and one that lasts too long a timeout", async () => {
    const message = { id: "evt_1", body: '{"data":{}}' };
    const attempt = () => deliver(URL_OF_RECEIVER, message, [SECRET], { ENVIRONMENT: "production" });
    respond(() => new Error("connection refused"));
    expect(await attempt()).toEqual({ response: undefined, error: "connection", retryAfter: 0 });
    const timer = vi.spyOn(globalThis, "setTimeout").mockImplementation((run) => (run(), 0));
    expect(await attempt()).toEqual({ response: undefined, error: "timeout", retryAfter: 0 });
    expect(timer).toHaveBeenCalledWith(expect.any(Function), TIMEOUT);
  });

  test("goes only to an address that the rule allows now", async () => {
    const attempt = (url: string) => deliver(url, { id: "evt_1", body: '{"data":{}}' }, [SECRET], env);
    expect(await attempt("https://127.0.0.1/")).toMatchObject({ error: "connection" });
    expect(received).toHaveLength(0);
    expect(await attempt("http://127.0.0.1:8788/")).toMatchObject({ response: 204 });
  });

  test("does not read the body of the response", async () => {
    const { hook } = await hookWith([1]);
    let isCancelled = false;
    const endless = new ReadableStream({ cancel: () => void (isCancelled = true) });
    respond(() => new Response(endless));
    await hook.run();
    expect(isCancelled).toBe(true);
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });
});

describe("the types of a webhook", () => {
  test("decide what is delivered, and the place moves past the others", async () => {
    const hook = await addHook({ types: ["order.placed"] });
    const [, second] = await addEvents([1], [2, 1, "order.placed"], [3]);
    await hook.run();
    expect(ids()).toEqual([second]);
    const { cursor } = await hook.state();
    expect((await page(await grantKey(), `cursor=${cursor}`)).events).toEqual([]);
  });

  // Promise: what-is-dropped
  test("that are removed take their pending events along", async () => {
    const { hook } = await hookWith([1], [2, 1, "pet.created"]);
    respond(() => 500);
    await hook.run();
    expect(await hook.state()).toMatchObject({ pending: 2 });
    await hook.set("types = ?", '["pet.created"]');
    await hook.run();
    expect(await hook.state()).toMatchObject({ pending: 1 });
  });

  test.each([
    ["", []],
    ["url = ?, ", ["https://hooks.shop.com/new"]],
  ])("that are removed during an attempt are not attempted again: %s", async (more, values) => {
    const { hook } = await hookWith([1, 1, "pet.created"]);
    const hung = { isOver: false };
    respond(async ({ type }) => {
      if (type !== "pet.created") return 204;
      while (!hung.isOver) await scheduler.wait(1);
      return 500;
    });
    const run = hook.run();
    await expect.poll(() => received).toHaveLength(1);
    await addEvents([2, 1, "pet.deleted"]);
    await hook.set(`${more}types = ?`, ...values, '["pet.deleted"]');
    // Its object has seen the types.
    await expect.poll(() => received).toHaveLength(2);
    hung.isOver = true;
    await run;
    await hook.pass(MINUTE);
    expect(received).toHaveLength(2);
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  test("may be unknown to this version", async () => {
    const hook = await addHook({ types: ["cage.cleaned"] });
    await addEvents([1, 1, "cage.cleaned"]);
    await hook.run();
    expect(received).toHaveLength(1);
  });
});

describe("first attempts", () => {
  test("start in the order of the feed, at most six at once", async () => {
    const { hook, sent } = await hookWith(...events(40));
    respond(async () => {
      await scheduler.wait(Math.random() * 5);
      return 204;
    });
    await hook.run();
    expect(ids()).toEqual(sent);
    expect(atOnce).toBe(6);
    await hook.run();
    expect(received).toHaveLength(40);
  });

  // Promise: numbers-of-webhooks, order-of-deliveries
  test("of one resource wait for each other, also within a read", async () => {
    const { hook } = await hookWith([1, 1], [1, 2], [2, 1], [1, 3]);
    const end = held();
    const run = hook.run();
    await expect.poll(() => received).toHaveLength(2);
    end(0);
    await expect.poll(() => received).toHaveLength(3);
    expect(versions()).toEqual(["1:1", "2:1", "1:2"]);
    end(1);
    end(2);
    await expect.poll(() => received).toHaveLength(4);
    end(3);
    await run;
    expect(versions()).toEqual(["1:1", "2:1", "1:2", "1:3"]);
  });

  test("are a thousand in a run. The next one follows at once", async () => {
    const { hook } = await hookWith(...events(1_100));
    await hook.run();
    expect(received).toHaveLength(1_000);
    expect(await hook.alarm()).toBe(0);
    await hook.pass(0);
    expect(received).toHaveLength(1_100);
    expect(new Set(ids()).size).toBe(1_100);
  });
});

describe("the order of a resource", () => {
  // Promise: some-events-are-refused
  test("keeps later events waiting while an earlier one is pending", async () => {
    const { hook } = await hookWith([1, 1], [2, 1], [1, 2], [2, 2]);
    respond(({ resource, version }) => (resource === 1 && version === 1 ? 500 : 204));
    await hook.run();
    expect(versions()).toEqual(["1:1", "2:1", "2:2"]);
    expect(await hook.state()).toMatchObject({ pending: 2 });
    await addEvents([1, 3]);
    respond(() => 204);
    await hook.pass(10 * SECOND);
    expect(versions()).toEqual(["1:1", "2:1", "2:2", "1:1", "1:2", "1:3"]);
  });

  // Promise: numbers-of-webhooks, order-of-deliveries, some-events-are-refused
  test("ends an hour after the first failure, until nothing is pending", async () => {
    const { hook } = await hookWith([1, 1], [1, 2]);
    // The others keep the endpoint healthy.
    respond(({ resource, version }) => (resource === 1 && version === 1 ? 500 : 204));
    await hook.run();
    for (let minute = 0; minute < 59; minute++) {
      await addEvents([9, minute]);
      await hook.pass(MINUTE);
    }
    expect(versions()).not.toContain("1:2");
    // A second more: a run in the last second of the hour does not read the feed again before it is over.
    await hook.pass(MINUTE + SECOND);
    expect(versions()).toContain("1:2");
    // Still without an order: later ones are delivered at once.
    await addEvents([1, 3]);
    await hook.run();
    expect(versions().at(-1)).toBe("1:3");
    expect(await hook.state()).toMatchObject({ pending: 1 });
    respond(() => 204);
    await hook.pass(3 * 60 * MINUTE);
    expect(await hook.state()).toMatchObject({ pending: 0 });
    // And with an order again.
    await addEvents([1, 4], [1, 5]);
    respond(({ version }) => (version === 4 ? 500 : 204));
    await hook.run();
    expect(versions().at(-1)).toBe("1:4");
  });
});

describe("what is recorded", () => {
  // Promise: numbers-of-webhooks
  test("survives a crash: 54 deliveries at most come again, and nothing is lost", async () => {
    const { hook, sent } = await hookWith(...events(300));
    const open: (() => void)[] = [];
    respond(async ({ resource }) => {
      if ([100, 250].includes(resource)) await new Promise<void>((resolve) => open.push(resolve));
      return 204;
    });
    const run = hook.run().catch(() => {});
    await expect.poll(() => received).toHaveLength(300);
    await abortAllDurableObjects();
    await run;
    respond(() => 204);
    const before = new Set(ids());
    forget();
    await hook.run();
    await hook.pass(5 * SECOND);
    const again = ids().filter((id) => before.has(id));
    expect(again.length).toBeLessThanOrEqual(54);
    expect(again).toContain(sent[99]);
    expect(again).toContain(sent[249]);
    expect(await hook.state()).toMatchObject({ pending: 0 });
  });

  // Promise: deliveries-are-listed, numbers-of-webhooks
  test("is a history of 1,000 finished deliveries, the newest first", async () => {
    const { hook, sent } = await hookWith(...events(1_250));
    await hook.run();
    await hook.pass(5 * SECOND);
    expect(received).toHaveLength(1_250);
    const deliveries = await hook.deliveries();
    expect(deliveries).toHaveLength(1_000);
    expect(deliveries.map(({ event }) => event)).toEqual(sent.slice(250).toReversed());
    expect(await hook.rows("SELECT count(*) AS rows FROM history")).toEqual([{ rows: 11 }]);
  });

  test("has no body and no header of a response, and the log has no address", async () => {
    const { hook } = await hookWith([1]);
    respond(() => new Response("a secret of the receiver", { status: 500, headers: { "x-secret": "theirs" } }));
    await hook.run();
    const stored = JSON.stringify([await hook.rows("SELECT * FROM pending"), await hook.rows("SELECT * FROM state")]);
    expect(stored).not.toContain("secret of the receiver");
    expect(stored).not.toContain("theirs");
  });
});

/** Takes rows for deliveries with so many attempts, which are not due. */
async function takeRows(hook: Hook, attempts: string, count = MAX_PENDING): Promise<void> {
  await hook.rows(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO pending SELECT printf('%024x', i), 'pet.updated', 'pet.' || (100000 + i), '{"data":{}}', ${attempts}, ${Date.now() - SECOND},
       ${Date.now() - SECOND},
       ${Date.now() + 60 * MINUTE}, 500, NULL FROM n`,
  );
  await evictDurableObject(hook.stub);
}

describe("rows for deliveries that wait", () => {
  // Promise: room-for-a-thousand
  test("stop the place when they are full, and the feed keeps the rest", async () => {
    const { hook, sent } = await hookWith(...events(MAX_PENDING + 50));
    respond(() => 500);
    await hook.run();
    await hook.pass(6 * MINUTE);
    expect(await hook.state()).toMatchObject({ pending: MAX_PENDING + FEW, health: "failing" });
    // Nothing is given up in an outage.
    expect((await hook.deliveries()).every(({ status }) => status === "pending")).toBe(true);
    respond(() => 204);
    await hook.pass(30 * MINUTE);
    expect(await hook.state()).toMatchObject({ pending: 0, health: "ok" });
    expect(new Set(ids())).toEqual(new Set(sent));
  });

  test("that have one place left are read on one by one, to the end", async () => {
    const hook = await addHook({ isNew: true });
    await hook.state();
    await takeRows(hook, "1", MAX_PENDING - 1);
    const sent = await addEvents(...events(5));
    await hook.run();
    expect(ids()).toEqual(sent);
    expect(await hook.alarm()).toBeGreaterThan(0);
  });

  // Promise: numbers-of-webhooks, room-for-a-thousand
  test("are given up when others need them: those with the most attempts, and no more than needed", async () => {
    const { hook } = await hookWith([1]);
    await hook.run();
    await hook.pass(MINUTE);
    await takeRows(hook, "1 + i % 3");
    // The first is delivered without a row. The second needs one.
    const [, refused] = await addEvents([2], [3]);
    respond(({ resource }) => (resource === 3 ? 500 : 204));
    await hook.run();
    expect(versions()).toEqual(["1:1", "2:1", "3:1"]);
    expect(await hook.state()).toMatchObject({ pending: MAX_PENDING });
    const deliveries = await hook.deliveries();
    expect(deliveries[0]).toMatchObject({ event: refused, status: "pending" });
    const failed = deliveries.filter(({ status }) => status === "failed");
    expect(failed).toMatchObject([
      { event: `evt_${(2).toString(16).padStart(24, "0")}`, attempts: 3, error: "no_room" },
    ]);
    expect(lines.filter((line) => line.includes("no_room"))).toHaveLength(1);
  });
});

describe("an object", () => {
  test("that an alarm wakes knows its name", async () => {
    const hook = await addHook({ isNew: true });
    await hook.stub.nudge(hook.name);
    await evictDurableObject(hook.stub);
    await addEvents([1]);
    await hook.pass(MINUTE);
    expect(received).toHaveLength(1);
  });

  test("reads the feed once a second at most, however often it is nudged", async () => {
    const hook = await addHook();
    await hook.run();
    await hook.stub.nudge(hook.name);
    expect(await hook.alarm()).toBe(SECOND);
    await hook.stub.nudge(hook.name);
    expect(await hook.alarm()).toBe(SECOND);
    await hook.stub.changed(hook.name);
    expect(await hook.alarm()).toBe(0);
    await hook.stub.nudge(hook.name);
    expect(await hook.alarm()).toBe(0);
  });

  test("does not know another webhook with the same id", async () => {
    const { name } = await addHook();
    const [id] = name.split("-");
    const other = new Hook(`${id}-1`);
    await addEvents([1]);
    await other.run();
    expect(received).toHaveLength(0);
  });
});
