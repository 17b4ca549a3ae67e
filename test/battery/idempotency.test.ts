// Every operation that takes an Idempotency-Key happens once under a key. Its requests are in the register.
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { newAnimal, newOrder, type OnceRequest, REX, type Service, unique } from "../../register/once.ts";
import { ROWS } from "../../register/operations.ts";
import { fingerprintOf, valuesOf } from "../../src/idempotency/attempt.ts";
import { pet as shape } from "../../src/pets/shape.ts";
import { latest, since } from "../events/feed.ts";
import { call, expectError } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault, observedDatabase } from "../support/observed-d1.ts";
import { grantKey, key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

const MOMENTS = ["before", "after"] as const;

beforeAll(async () => {
  // Retries need not wait here.
  vi.spyOn(scheduler, "wait").mockResolvedValue();
});
afterAll(() => {
  vi.restoreAllMocks();
});

const send = (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) =>
  call(path, { method, key, headers, ...(body === undefined ? {} : { body }) });

const service: Service = { send, run: (sql) => env.DB.exec(sql) };

const KINDS = OPERATIONS.flatMap(({ name: id, method }) => {
  const { once = [], invalid = {} } = ROWS[id];
  return once.map((kind) => ({ ...kind, method, invalid, name: kind.name === undefined ? id : `${id} ${kind.name}` }));
});

describe.each(KINDS)("$name under an Idempotency-Key", (kind) => {
  const { name, method, prepare, invalid, nothing, events, disturb, conflict } = kind;
  const success = method === "PATCH" ? 200 : 201;
  let request: OnceRequest;
  let idempotencyKey: string;
  const begin = async () => {
    idempotencyKey = unique();
    request = await prepare(service);
  };
  beforeEach(begin);

  const once = (body: object | string, headers: Record<string, string> = {}) =>
    send(method, request.path, body, { "Idempotency-Key": idempotencyKey, ...headers });
  /** Sends the request to a database with these faults. */
  async function attempt(...faults: Fault[]) {
    const { DB, roundTrips } = observedDatabase(...faults);
    const headers = { "Idempotency-Key": idempotencyKey };
    const response = await call(request.path, { method, key, body: request.body, headers, bindings: { DB } });
    return { response, roundTrips: roundTrips() };
  }
  const HEADERS = ["Location", "ETag", "Idempotency-Replayed"];
  const outcome = async (response: Response) => ({
    status: response.status,
    headers: HEADERS.map((header) => response.headers.get(header)),
    body: await response.text(),
  });
  async function expectFirst(response: Response) {
    const first = await outcome(response);
    expect([first.status, first.headers[2]]).toEqual([success, null]);
    return first;
  }
  async function expectReplay(response: Response, first: Awaited<ReturnType<typeof outcome>>): Promise<void> {
    expect(await outcome(response)).toEqual({ ...first, headers: [...first.headers.slice(0, 2), "true"] });
  }
  /** The path of a resource that the request creates or changes. */
  function targetOf({ headers: [location], body }: Awaited<ReturnType<typeof outcome>>): string {
    const value: unknown = JSON.parse(body);
    if (Array.isArray(value)) return `/v1/pets/${value[0].id}`;
    return location ?? request.path;
  }

  /** Beside what the operation knows, in the first and in the last item. */
  function withOthers(body: object | string): object {
    if (!Array.isArray(body)) return { ...(body as object), sku: 1, price: 2 };
    return body.map((item: object, place) => ({
      ...item,
      ...(place === 0 && { sku: 1 }),
      ...(place === body.length - 1 && { price: 2 }),
    }));
  }

  // Promise: ignored-fields-are-named
  // Promise: a-patch-is-repeated-once, batches-have-keys, created-once
  // Promise: a-key-belongs-to-one-request, placements-can-be-repeated, retries-get-the-first-response
  // Promise: retries-get-the-first-response
  test("happens once, in one round trip, and a retry gets the first response, also after a change and a deletion", async () => {
    const cursor = await latest(key);
    const { response, roundTrips } = await attempt();
    const first = await expectFirst(response);
    expect(roundTrips).toBe(1);
    await expectReplay((await attempt()).response, first);
    await expectReplay(await once(request.same), first);
    const others = await once(withOthers(request.body));
    // Those of its own request.
    expect([response, others].map(({ headers }) => headers.get("Ignored-Fields"))).toEqual([null, '"sku", "price"']);
    await expectReplay(others, first);
    expect(await since(key, cursor)).toHaveLength(events);
    const target = targetOf(first);
    // A batch has several, and that of patches has their versions too.
    expect(first.body).toContain((await (await send("GET", target)).text()).slice(0, -1));
    expect((await send("PATCH", target, disturb())).status).toBe(200);
    await expectReplay(await once(request.body), first);
    await send("DELETE", target);
    await expectReplay(await once(request.body), first);
  });

  // Promise: a-key-belongs-to-one-request, a-patch-is-compared-with-its-versions, batches-have-keys
  test("is 422 with another request, and the key still belongs to the first one", async () => {
    const first = await expectFirst(await once(request.body));
    const cursor = await latest(key);
    for (const other of request.others) {
      // An array is a request of another operation.
      const path = Array.isArray(other) ? "/v1/pets/batch" : request.path;
      const response = await send(method, path, other, { "Idempotency-Key": idempotencyKey });
      expect(await expectError(response, "idempotency_key_reused")).toContain("Give the header Idempotency-Key a new");
    }
    const body = { ...REX, name: unique() };
    const response = await send("POST", "/v1/pets", body, { "Idempotency-Key": idempotencyKey });
    await expectError(response, "idempotency_key_reused");
    expect(await since(key, cursor)).toEqual([]);
    await expectReplay(await once(request.body), first);
  });

  // Promise: refusals-use-no-key, what-uses-a-key-up
  test("leaves the key unused when it is refused", async () => {
    await expectError(await once(invalid), "invalid_request");
    const [code, blocker] = (await conflict?.(service, request)) ?? [];
    if (code !== undefined) {
      await expectError(await once(request.body), code);
      if (blocker !== undefined) expect((await send("DELETE", blocker)).status).toBe(204);
    }
    // A different request. The key would refuse it if a refusal had stored the first.
    await expectFirst(await once(request.others[0]));
  });

  // Promise: keys-belong-to-api-keys
  test("belongs to the API key", async () => {
    await expectFirst(await once(request.body));
    const headers = { "Idempotency-Key": idempotencyKey };
    const [body] = request.others;
    await expectFirst(await call(request.path, { method, key: await grantKey(), body, headers }));
  });

  // The other operations repeat their transactions in the same function.
  const errors = name === "createPet" ? TRANSIENT_ERRORS : TRANSIENT_ERRORS.slice(0, 1);
  // Promise: created-once, faults, retries-get-the-first-response, retries-of-the-service
  test.each(errors)("is repeated by the service after a transient failure: %s", async (message) => {
    for (const when of MOMENTS) {
      for (const failures of message === errors[0] ? [2, 3] : [1]) {
        await begin();
        const cursor = await latest(key);
        const { response, roundTrips } = await attempt(...Array.from({ length: failures }, () => ({ when, message })));
        expect(roundTrips).toBe(Math.min(failures + 1, 3));
        if (failures < 3) expect(response.status).toBe(success);
        else await expectError(response, "service_unavailable");
        expect(await since(key, cursor)).toHaveLength(failures < 3 || when === "after" ? events : 0);
        const retry = await outcome((await attempt()).response);
        expect([retry.status, retry.headers[2]]).toEqual([success, failures < 3 || when === "after" ? "true" : null]);
        expect(await since(key, cursor)).toHaveLength(events);
      }
    }
  });

  // Promise: created-once, faults
  test.each(name === "createPet" ? LASTING_ERRORS : LASTING_ERRORS.slice(0, 1))(
    "is 503 at once after a lasting failure, and can be repeated by the client: %s",
    async (message) => {
      for (const when of MOMENTS) {
        await begin();
        const cursor = await latest(key);
        const { response, roundTrips } = await attempt({ when, message });
        await expectError(response, "service_unavailable");
        expect(roundTrips).toBe(1);
        const retry = await outcome((await attempt()).response);
        expect([retry.status, retry.headers[2]]).toEqual([success, when === "after" ? "true" : null]);
        expect(await since(key, cursor)).toHaveLength(events);
      }
    },
  );

  // Promise: created-once
  test("happens once when ten requests race", async () => {
    const cursor = await latest(key);
    const responses = await Promise.all(Array.from({ length: 10 }, () => once(request.body)));
    const outcomes = await Promise.all(responses.map(outcome));
    const first = outcomes.find(({ headers }) => headers[2] === null) ?? expect.unreachable("all are replays");
    expect(first.status).toBe(success);
    const replay = { ...first, headers: [...first.headers.slice(0, 2), "true"] };
    expect(outcomes.filter((one) => one !== first)).toEqual(Array.from({ length: 9 }, () => replay));
    expect(await since(key, cursor)).toHaveLength(events);
  });

  test("refuses a malformed key", async () => {
    const response = await once(request.body, { "Idempotency-Key": '"x' });
    expect(await expectError(response, "invalid_request")).toMatch(/^Idempotency-Key /);
  });

  describe.each(nothing === undefined ? [] : [nothing])("and preconditions", (unchanged) => {
    const MATCH = { "If-Match": '"1"' };

    // Promise: a-patch-is-compared-with-its-versions, a-patch-is-repeated-once, order-of-a-patch
    test("is a request with its preconditions and its path, before 404 and 412", async () => {
      const first = await expectFirst(await once(request.body, MATCH));
      await expectReplay(await once(request.same, { "If-Match": 'W/"1"' }), first);
      await send("PATCH", request.path, disturb());
      await expectReplay(await once(request.body, MATCH), first);
      for (const headers of [{}, { "If-Match": '"7"' }, { "If-None-Match": '"9"' }]) {
        await expectError(await once(request.body, headers), "idempotency_key_reused");
      }
      const headers = { ...MATCH, "Idempotency-Key": idempotencyKey };
      const another = (await prepare(service)).path;
      for (const path of [another, request.path.replace(/\d+$/, "999999999")]) {
        await expectError(await send(method, path, request.body, headers), "idempotency_key_reused");
      }
      // A refused patch changes nothing.
      expect((await send("PATCH", another, {})).headers.get("ETag")).toBe('"1"');
    });

    // Promise: what-uses-a-key-up
    test("uses the key when it changes nothing", async () => {
      for (const [body, headers] of [
        [unchanged, {}],
        [unchanged, MATCH],
        [{}, {}],
        [{}, MATCH],
      ] as const) {
        await begin();
        const first = await expectFirst(await once(body, headers));
        expect(first.headers[1]).toBe('"1"');
        await send("PATCH", request.path, disturb());
        await expectReplay(await once(body, headers), first);
      }
    });

    // Promise: what-uses-a-key-up
    test("leaves the key unused after 404 and 412", async () => {
      const nowhere = request.path.replace(/\d+$/, "999999999");
      const headers = { "Idempotency-Key": idempotencyKey };
      await expectError(await send(method, nowhere, request.body, headers), "not_found");
      await expectError(await once(request.body, { "If-Match": "1" }), "invalid_request");
      for (const body of [request.body, unchanged, {}]) {
        await expectError(await once(body, { "If-Match": '"2"' }), "precondition_failed");
      }
      expect((await expectFirst(await once(request.body))).headers[1]).toBe('"2"');
    });

    // Promise: one-of-equal-changes-wins, one-update-succeeds, preconditions-are-evaluated
    test("with If-Match and without a key takes effect once, also when two equal patches race", async () => {
      const patch = () => send(method, request.path, request.body, MATCH);
      const statuses = (await Promise.all([patch(), patch()])).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([200, 412]));
      await expectError(await patch(), "precondition_failed");
      expect((await send(method, request.path, {})).headers.get("ETag")).toBe('"2"');
    });
  });
});

describe("the header", () => {
  const ask = (idempotencyKey: string, method = "POST") =>
    send(method, "/v1/pets", method === "POST" ? REX : undefined, { "Idempotency-Key": idempotencyKey });

  // Promise: quoted-keys
  test.each([
    ["abc", '"abc"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["x".repeat(255), `"${"x".repeat(255)}"`],
    ["!~", '"!~"'],
    ["k-1", '"k-1";v=1'],
    ['k"2', '"k\\"2"; a;*b.c=?1;d="x;\\"y ";e=:aGk=:'],
  ])("%s means the same raw and quoted", async (raw, quoted) => {
    const first = await (await ask(raw)).text();
    const response = await ask(quoted);
    expect(response.headers.get("Idempotency-Replayed")).toBe("true");
    expect(await response.text()).toBe(first);
  });

  // Promise: create-many-keys, keys-are-visible-ascii, quoted-keys
  test.each([
    "",
    " ",
    "ü",
    "x".repeat(256),
    '"x',
    '""',
    `"${"x".repeat(256)}"`,
    "a b",
    '"a b"',
    '"',
    '"a"b"',
    '"a\\b"',
    '"a";',
    '"a" ;v=1',
    '"a";V=1',
    '"a";v="1',
    '"a";v=',
    '"a\\',
    "a\u0001b",
    "a, b",
  ])("cannot be %j", async (value) => {
    expect(await expectError(await ask(value), "invalid_request")).toMatch(/^Idempotency-Key /);
  });

  test("is case-sensitive in its value, and ignored by operations that read", async () => {
    await ask("k1");
    expect((await ask("K1")).headers.get("Idempotency-Replayed")).toBeNull();
    expect((await ask("", "GET")).status).toBe(200);
  });
});

describe("a retry after a release", () => {
  // The first digits of the fingerprint. Another one would refuse the retry of a client whose first attempt came before a release.
  test.each([
    ["a new animal", "POST", "/v1/pets", { name: "Rex", categoryId: 7, status: "pending" }, "195844ede41e51d4"],
    ["a batch", "POST", "/v1/pets/batch", [{ name: "Rex", categoryId: 7 }], "6ab15b19c05fa2b9"],
    ["a new category", "POST", "/v1/categories", { name: "Pinned" }, "e9504094da2c34f4"],
    ["a new order", "POST", "/v1/store/orders", { petId: 4243 }, "de382c5f1de54b7a"],
    ["an animal", "PATCH", "/v1/pets/4242", { name: "Max" }, "4476d57f243445e9"],
    [
      "several animals",
      "PATCH",
      "/v1/pets/batch",
      [
        { id: 4242, name: "Max" },
        { id: 4243, version: 1 },
      ],
      "b745925adad63472",
    ],
    ["a category", "PATCH", "/v1/categories/4242", { description: null }, "bd15933ec9835bd0"],
    [
      "an order",
      "PATCH",
      "/v1/store/orders/4242",
      { status: "shipped", shipDate: "2026-11-22T08:30:00Z" },
      "64e7aa796be7d146",
    ],
    ["a new order with a reference", "POST", "/v1/store/orders", { petId: 4244, reference: "é" }, "27018890ef5d1a09"],
    ["a reference", "PATCH", "/v1/store/orders/4242", { reference: null }, "2b69fb10df056174"],
  ])("has the same fingerprint: %s", async (_, method, path, body, fingerprint) => {
    await env.DB.batch(
      [
        "INSERT OR REPLACE INTO pets (id, name, category_id, status) VALUES (4242, 'Rex', 7, 'available'), (4243, 'Rex', 7, 'available'), (4244, 'Rex', 7, 'available')",
        "INSERT OR REPLACE INTO categories (id, name) VALUES (4242, 'Pinned too')",
        "INSERT OR REPLACE INTO orders (id, pet_id, status, created_at) VALUES (4242, 4242, 'placed', '2026-11-22T08:00:00.000Z')",
      ].map((sql) => env.DB.prepare(sql)),
    );
    const idempotencyKey = unique();
    const preconditions = method === "PATCH" && !Array.isArray(body) ? { "If-Match": '"1", W/"9"' } : {};
    const headers = { "Idempotency-Key": idempotencyKey, ...preconditions };
    expect((await send(method, path, body, headers)).ok).toBe(true);
    const entry = await env.DB.prepare("SELECT fingerprint FROM idempotency_keys WHERE idempotency_key = ?")
      .bind(idempotencyKey)
      .first<string>("fingerprint");
    expect(entry?.slice(0, 16)).toBe(fingerprint);
  });

  // Promise: retries-outlive-a-release
  test("that added a field is still the same request, and a retry that sets any field is another", async () => {
    const pet = { name: "Rex", categoryId: "7", status: "pending" };
    const later = { shape: { ...shape.creation().shape, note: undefined, colour: undefined } };
    const old = await fingerprintOf("createPet", ...valuesOf(shape.creation(), pet));
    expect(await fingerprintOf("createPet", ...valuesOf(later, pet))).toBe(old);
    const fields = Object.keys(later.shape);
    const others = fields.map((field) => fingerprintOf("createPet", ...valuesOf(later, { ...pet, [field]: "other" })));
    expect(new Set([old, ...(await Promise.all(others))]).size).toBe(fields.length + 1);
  });
});

describe("without an Idempotency-Key", () => {
  // A second run could undo a change that somebody else made, successfully, after the first.
  // Promise: batches-are-not-repeated, faults, no-key-no-retry, references-are-not-repeated, retries-of-the-service
  test.each(KINDS)("$name is sent to D1 once", async ({ name, method, prepare, events }) => {
    for (const when of MOMENTS) {
      for (const message of [TRANSIENT_ERRORS[0] ?? "", LASTING_ERRORS[0] ?? ""]) {
        const { path, body } = await prepare(service);
        const cursor = await latest(key);
        const { DB, roundTrips } = observedDatabase({ when, message });
        // A shipment is repeated without a precondition: an order is shipped once.
        const headers: Record<string, string> = name === "updateOrder" ? { "If-Match": '"1"' } : {};
        await expectError(await call(path, { method, key, body, headers, bindings: { DB } }), "service_unavailable");
        expect(roundTrips()).toBe(1);
        expect(await since(key, cursor)).toHaveLength(when === "after" ? events : 0);
      }
    }
  });

  // Promise: retries-of-the-service
  test.each([
    [{ status: "shipped" }, '"2"'],
    [{}, '"1"'],
  ])("a patch of an order without a precondition and a reference is repeated by the service: %o", async (body, tag) => {
    const path = await newOrder(service, await newAnimal(service));
    const { DB, roundTrips } = observedDatabase({ when: "after", message: TRANSIENT_ERRORS[0] ?? "" });
    const response = await call(path, { method: "PATCH", key, body, bindings: { DB } });
    expect([response.status, response.headers.get("ETag"), roundTrips()]).toEqual([200, tag, 2]);
  });
});

// Promise: retries-of-the-service
test("the service waits longer before each retry, for a random time", async () => {
  const wait = vi.spyOn(scheduler, "wait").mockClear();
  for (let i = 0; i < 20; i++) {
    const fault: Fault = { when: "before", message: TRANSIENT_ERRORS[0] ?? "" };
    const { DB } = observedDatabase(fault, fault, fault);
    await call("/v1/pets", {
      method: "POST",
      key,
      body: REX,
      headers: { "Idempotency-Key": unique() },
      bindings: { DB },
    });
  }
  const delays = wait.mock.calls.flat();
  expect(delays).toHaveLength(40);
  for (const [index, delay] of delays.entries()) {
    const backoff = index % 2 === 0 ? 50 : 100;
    expect(delay).toBeGreaterThanOrEqual(backoff / 2);
    expect(delay).toBeLessThanOrEqual(backoff);
  }
  expect(new Set(delays).size).toBeGreaterThan(30);
});
