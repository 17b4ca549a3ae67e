import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { refuseOverBudget, spendBudget } from "../../src/auth/rate-limit.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";

const BATCH = "/v1/pets/batch";
/** The longest name as JSON: 1,530 bytes. */
const LONG = "\u0001".repeat(255);
/** As many of them as a body may have. */
const MANY = 40;
const animals = (count: number, name = "Rex") => Array.from({ length: count }, () => ({ name, categoryId: 1 }));
const imported = (count: number, name = "Rex") =>
  animals(count, name).map((animal, index) => ({ ...animal, externalId: `SKU-${index}` }));
/** A key of its own for each test: the isolate that runs them has one memory. */
let key: string;
beforeEach(async () => {
  key = await grantKey();
});
afterEach(() => void vi.restoreAllMocks());

function limiterFor(room = Infinity) {
  let count = 0;
  return { limit: async () => ({ success: ++count <= room }), counted: () => count };
}

/** Bytes of the events and of the stored responses. */
const storedBytes = async () =>
  (await env.DB.prepare(
    `SELECT (SELECT sum(octet_length(data)) FROM events) +
       (SELECT coalesce(sum(octet_length(response)), 0) FROM idempotency_keys) AS bytes`,
  ).first<number>("bytes")) ?? 0;

describe("a batch counts the animals that it begins", () => {
  // Promise: batches-count-their-animals
  test.each([
    [1, 1],
    [10, 1],
    [11, 2],
    [20, 2],
    [21, 3],
    [100, 10],
  ])("%i animals like %i requests, a creation, a retry, a patch and an import", async (count, requests) => {
    const headers = { "Idempotency-Key": "once" };
    const send = async (method: string, body: object) => {
      const RATE_LIMITER = limiterFor();
      const response = await call(BATCH, { method, key, headers, body, bindings: { RATE_LIMITER } });
      return { response, counted: RATE_LIMITER.counted() };
    };
    const first = await send("POST", animals(count));
    const created = (await expectJson(first.response, 201)) as { id: number }[];
    const retry = await send("POST", animals(count));
    expect(retry.response.headers.get("Idempotency-Replayed")).toBe("true");
    headers["Idempotency-Key"] = "patch";
    const patch = await send(
      "PATCH",
      created.map(({ id }) => ({ id, status: "sold" })),
    );
    expect(patch.response.status).toBe(200);
    const imports = await send("PUT", imported(count));
    expect(imports.response.status).toBe(200);
    expect([first, retry, patch, imports].map(({ counted }) => counted)).toEqual(Array(4).fill(requests));
  });

  test("and is refused before it changes anything", async () => {
    const before = await storedBytes();
    const headers = { "Idempotency-Key": "refused" };
    const RATE_LIMITER = limiterFor(9);
    const request = { method: "POST", key, headers, body: animals(100) };
    const response = await call(BATCH, { ...request, bindings: { RATE_LIMITER } });
    expect(await expectError(response, "rate_limited")).toBe("Too many requests with this API key. Slow down.");
    expect(response.headers.get("Retry-After")).toBe("60");
    expect(await storedBytes()).toBe(before);
    // The key is not used.
    const created = await call(BATCH, { ...request, body: animals(1) });
    expect(created.status).toBe(201);
    expect(created.headers.get("Idempotency-Replayed")).toBeNull();
  });

  test("but only when it is valid", async () => {
    for (const [headers, body] of [
      [{}, [...animals(99), {}]],
      [{ "Idempotency-Key": "" }, animals(100)],
      [{ "x-d1-bookmark": "none" }, animals(100)],
    ] as const) {
      const RATE_LIMITER = limiterFor();
      const response = await call(BATCH, { method: "POST", key, headers, body, bindings: { RATE_LIMITER } });
      await expectError(response, "invalid_request");
      expect(RATE_LIMITER.counted()).toBe(1);
    }
  });

  test("a limiter that fails then changes nothing", async () => {
    const before = await storedBytes();
    let count = 0;
    const limit = () =>
      ++count === 5 ? Promise.reject(new Error("limiter gone")) : Promise.resolve({ success: true });
    const request = { method: "POST", key, body: animals(100), bindings: { RATE_LIMITER: { limit } } };
    await expectError(await call(BATCH, request), "service_unavailable");
    expect(await storedBytes()).toBe(before);
  });
});

describe("the changes of a key have a budget of bytes", () => {
  const MIB = 2 ** 20;
  const TOO_MUCH = "The changes of this API key or customer have stored too much. Slow down.";
  const SMALL = { STORED_MIB: "1" } as unknown as Partial<Env>;
  const send = (method: string, path: string, body?: object, more: Parameters<typeof call>[1] = {}) =>
    call(path, { method, key, bindings: SMALL, ...(body && { body }), ...more });

  /** Repeats a change until it is refused. Returns the bytes that the changes stored. */
  async function fill(change: (i: number) => Promise<Response>): Promise<number> {
    const before = await storedBytes();
    for (let i = 0; i < 500; i++) {
      const response = await change(i);
      if (response.status < 300) continue;
      expect(await expectError(response, "rate_limited")).toBe(TOO_MUCH);
      expect(response.headers.get("Retry-After")).toBe("60");
      return (await storedBytes()) - before;
    }
    return expect.unreachable();
  }

  /** The name does not count as characters: each of the second is 3 bytes. */
  test.each([LONG, "猫".repeat(255)])("animals of the name %j", async (name) => {
    const size = new TextEncoder().encode(JSON.stringify(name)).length * MANY;
    const stored = await fill(() => send("POST", BATCH, animals(MANY, name)));
    expect(stored).toBeGreaterThan(0.8 * MIB);
    expect(stored).toBeLessThan(MIB + 1.2 * size);
  });

  // Promise: stored-bytes-are-limited
  test("a small patch counts what it stores: the whole animal, twice with an Idempotency-Key", async () => {
    const created: { id: number }[] = [];
    while (created.length < 100)
      created.push(...(await call(BATCH, { method: "POST", key, body: animals(20, LONG) }).then((r) => r.json<[]>())));
    key = await grantKey();
    const stored = await fill((i) => {
      const status = i % 2 ? "sold" : "pending";
      const headers = { "Idempotency-Key": `patch-${i}` };
      return send(
        "PATCH",
        BATCH,
        created.map(({ id }) => ({ id, status })),
        { headers },
      );
    });
    expect(stored).toBeGreaterThan(0.9 * MIB);
    expect(stored).toBeLessThan(MIB + 400_000);
  });

  // Promise: refused-before-the-change
  test("used up, it refuses every change before it happens, and nothing else", async () => {
    const { id } = (await expectJson(await send("POST", "/v1/pets", animals(1)[0]), 201)) as { id: number };
    const headers = { "Idempotency-Key": "first" };
    expect((await send("POST", BATCH, animals(2), { headers })).status).toBe(201);
    await fill(() => send("POST", BATCH, animals(MANY, LONG)));
    const before = await storedBytes();
    const RATE_LIMITER = limiterFor();
    for (const response of [
      await send("POST", "/v1/pets", animals(1)[0]),
      await send("POST", BATCH, animals(100), { bindings: { ...SMALL, RATE_LIMITER } }),
      await send("POST", BATCH, animals(2), { headers }),
      await send("PUT", BATCH, imported(1)),
      await send("PATCH", `/v1/pets/${id}`, { name: "Max" }),
      await send("DELETE", `/v1/pets/${id}`),
      await send("POST", "/v1/categories", { name: "Dogs" }),
      await send("POST", "/v1/store/orders", { petId: id }),
    ])
      expect(await expectError(response, "rate_limited")).toBe(TOO_MUCH);
    // A batch that is refused so has not used up its requests.
    expect(RATE_LIMITER.counted()).toBe(1);
    expect(await storedBytes()).toBe(before);
    expect((await send("GET", `/v1/pets/${id}`)).status).toBe(200);
    await expectError(await send("POST", "/v1/pets", {}), "invalid_request");
    key = await grantKey();
    expect((await send("POST", "/v1/pets", animals(1)[0])).status).toBe(201);
  });

  test("it fills evenly, a tenth in the minute that Retry-After names", async () => {
    const start = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(start);
    const batch = () => send("POST", BATCH, animals(15, LONG));
    const first = await fill(batch);
    clock.mockReturnValue(start + 60_000);
    const later = await fill(batch);
    expect(later / first).toBeGreaterThan(0.05);
    expect(later / first).toBeLessThan(0.15);
    clock.mockReturnValue(start + 60_000 + 11 * 60_000);
    expect((await fill(batch)) / first).toBeCloseTo(1, 1);
  });

  // Promise: equal-animals-count-nothing
  test("a retry and an import that store nothing count nothing", async () => {
    const headers = { "Idempotency-Key": "again" };
    const [same, ...others] = imported(MANY, LONG);
    for (let i = 0; i < 20; i++) {
      expect((await send("POST", BATCH, animals(MANY, LONG), { headers })).status).toBe(201);
      expect((await send("PUT", BATCH, [{ ...same, name: `${i}` }, ...others])).status).toBe(200);
    }
  });

  test("an import counts what it changes", async () => {
    const stored = await fill((i) => send("PUT", BATCH, imported(MANY, `${i}${LONG}`.slice(0, 255))));
    expect(stored).toBeGreaterThan(0.8 * MIB);
    expect(stored).toBeLessThan(MIB + 100_000);
  });

  test.each(["", "0", "-1", "1.5", "64 MiB", undefined])("a setting of %j counts as 64", (setting) => {
    vi.spyOn(Date, "now").mockReturnValue(Date.now());
    /** The last of eight batches stores so many bytes: those of its bodies, 60 for each event and 220 for the entry. */
    const ownerOf = (last: number) => {
      const owner = crypto.randomUUID();
      for (const bytes of [...Array<number>(7).fill(8 * MIB), last])
        spendBudget(owner, setting, "x".repeat((bytes - 6_220) / 2), 100, true);
      return owner;
    };
    const [full, other] = [ownerOf(8 * MIB), ownerOf(8 * MIB - 2)];
    expect(() => refuseOverBudget(full, setting)).toThrow(TOO_MUCH);
    refuseOverBudget(full, "65");
    refuseOverBudget(other, setting);
  });

  test("a budget that was spent before the clock was set back is full again", () => {
    const [now, owner] = [Date.now(), crypto.randomUUID()];
    const clock = vi.spyOn(Date, "now").mockReturnValue(now + 3_600_000);
    spendBudget(owner, "1", "x".repeat(MIB), 1, false);
    expect(() => refuseOverBudget(owner, "1")).toThrow(TOO_MUCH);
    clock.mockReturnValue(now);
    refuseOverBudget(owner, "1");
  });
});
