import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { fingerprintOf, valuesOf } from "../../src/changes/attempt.ts";
import { BATCH_SIZE } from "../../src/changes/purge.ts";
import worker from "../../src/index.ts";
import { newPet } from "../../src/pets/create-pet.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault, faultyDatabase } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";

const REX = { name: "Rex", categoryId: 7, status: "pending" };

let key: string;
beforeAll(async () => {
  key = await grantKey();
});
beforeEach(async () => {
  await env.DB.batch([env.DB.prepare("DELETE FROM pets"), env.DB.prepare("DELETE FROM idempotency_keys")]);
});

interface Options {
  body?: object | string;
  apiKey?: string;
  faults?: Fault[];
}

async function create(idempotencyKey: string, { body = REX, apiKey = key, faults }: Options = {}) {
  const { DB, roundTrips } = faultyDatabase(...(faults ?? []));
  const response = await call("/v1/pets", {
    method: "POST",
    key: apiKey,
    body,
    headers: { "Idempotency-Key": idempotencyKey },
    bindings: { DB },
  });
  return { response, roundTrips: roundTrips() };
}

async function count(table: "pets" | "idempotency_keys"): Promise<number | null> {
  return env.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n");
}

test("the first request creates the animal, in one round trip", async () => {
  const { response, roundTrips } = await create("k1");
  expect(await expectJson(response, 201)).toEqual({ id: expect.any(Number), ...REX });
  expect(response.headers.get("Idempotency-Replayed")).toBeNull();
  expect(response.headers.get("x-d1-bookmark")).not.toBeNull();
  expect(roundTrips).toBe(1);
  expect([await count("pets"), await count("idempotency_keys")]).toEqual([1, 1]);
});

test("a repeated request gets the first response again and creates nothing", async () => {
  const first = await create("k1");
  const again = await create("k1");
  expect(again.response.status).toBe(201);
  expect(again.response.headers.get("Idempotency-Replayed")).toBe("true");
  expect(again.response.headers.get("Location")).toBe(first.response.headers.get("Location"));
  expect(await again.response.text()).toBe(await first.response.text());
  expect(again.roundTrips).toBe(1);
  expect(await count("pets")).toBe(1);
});

test("the first response is repeated even after the animal was changed or deleted", async () => {
  const first = await (await create("k1")).response.text();
  await env.DB.exec("UPDATE pets SET status = 'sold'");
  expect(await (await create("k1")).response.text()).toBe(first);
  await env.DB.exec("DELETE FROM pets");
  expect(await (await create("k1")).response.text()).toBe(first);
});

test.each([
  ["other bytes", '{ "status":"pending",\n"categoryId":7.0e0, "name":"\\u0052ex" }'],
  ["unknown fields", { ...REX, id: 5, tags: [] }],
])("the same request in %s is the same request", async (_, body) => {
  await create("k1");
  const { response } = await create("k1", { body });
  expect(response.status).toBe(201);
  expect(response.headers.get("Idempotency-Replayed")).toBe("true");
  expect(await count("pets")).toBe(1);
});

test("an omitted status is the default status", async () => {
  await create("k1", { body: { name: "Rex", categoryId: 7 } });
  const { response } = await create("k1", { body: { name: "Rex", categoryId: 7, status: "available" } });
  expect(response.headers.get("Idempotency-Replayed")).toBe("true");
});

test.each([
  ["name", { ...REX, name: "Max" }],
  ["name, in case", { ...REX, name: "rex" }],
  ["categoryId", { ...REX, categoryId: 8 }],
  ["status", { ...REX, status: "sold" }],
])("another request under the same key is refused: another %s", async (_, body) => {
  const first = await (await create("k1")).response.text();
  await expectError((await create("k1", { body })).response, "idempotency_key_reused");
  expect(await count("pets")).toBe(1);
  // The key still belongs to the first request.
  expect(await (await create("k1")).response.text()).toBe(first);
});

test("another API key can use the same idempotency key", async () => {
  await create("k1");
  const { response } = await create("k1", { apiKey: await grantKey(), body: { ...REX, name: "Max" } });
  expect(response.status).toBe(201);
  expect(response.headers.get("Idempotency-Replayed")).toBeNull();
  expect(await count("pets")).toBe(2);
});

test("without a key, every request creates an animal", async () => {
  for (let i = 0; i < 3; i++) expect((await call("/v1/pets", { method: "POST", key, body: REX })).status).toBe(201);
  expect([await count("pets"), await count("idempotency_keys")]).toEqual([3, 0]);
});

test("a request that fails validation stores nothing and leaves the key unused", async () => {
  await expectError((await create("k1", { body: { ...REX, status: "gone" } })).response, "invalid_request");
  expect([await count("pets"), await count("idempotency_keys")]).toEqual([0, 0]);
  expect((await create("k1")).response.headers.get("Idempotency-Replayed")).toBeNull();
});

describe("a retry after a release", () => {
  test("is still the same request: it has the fingerprint of version 1.0.0", async () => {
    const pet = { name: "Rex", categoryId: "7", status: "pending" };
    expect(await fingerprintOf("createPet", ...valuesOf(newPet(), pet))).toBe(
      "195844ede41e51d4b34f0397410207edf12f75a0917a2a8b76967d8405ce3c7b",
    );
  });

  test("that added a field is still the same request, and a retry that sets the field is another", async () => {
    const pet = { name: "Rex", categoryId: "7", status: "pending" };
    const later = { shape: { ...newPet().shape, note: undefined, colour: undefined } };
    const old = await fingerprintOf("createPet", ...valuesOf(newPet(), pet));
    expect(await fingerprintOf("createPet", ...valuesOf(later, pet))).toBe(old);
    const others = [
      { ...pet, note: "x" },
      { ...pet, colour: "x" },
    ].map((request) => fingerprintOf("createPet", ...valuesOf(later, request)));
    expect(new Set([old, ...(await Promise.all(others))]).size).toBe(3);
  });

  test("covers every field that the schema has", async () => {
    const pet = { name: "Rex", categoryId: "7", status: "pending" };
    const changed = (Object.keys(newPet().shape) as (keyof typeof pet)[]).map((field) =>
      fingerprintOf("createPet", ...valuesOf(newPet(), { ...pet, [field]: "other" })),
    );
    const all = await Promise.all([...changed, fingerprintOf("createPet", ...valuesOf(newPet(), pet))]);
    expect(new Set(all).size).toBe(Object.keys(newPet().shape).length + 1);
  });

  test("from version 1.0.0, which kept no responses, gets the same response", async () => {
    const first = await (await create("k1")).response.text();
    await env.DB.exec("UPDATE idempotency_keys SET response = NULL");
    const { response } = await create("k1");
    expect(response.headers.get("Idempotency-Replayed")).toBe("true");
    expect(await response.text()).toBe(first);
  });
});

test("the stored response is repeated, not one built from the repeated request", async () => {
  await create("k1");
  const stored = '{"id":1,"name":"Rex","categoryId":7,"status":"sold"}';
  await env.DB.prepare("UPDATE idempotency_keys SET response = ?").bind(stored).run();
  expect(await (await create("k1")).response.text()).toBe(stored);
});

describe("the header", () => {
  test.each([
    ["abc", '"abc"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["x".repeat(255), `"${"x".repeat(255)}"`],
    ["!~", '"!~"'],
  ])("%s means the same raw and quoted", async (raw, quoted) => {
    const first = await (await create(raw)).response.text();
    const { response } = await create(quoted);
    expect(response.headers.get("Idempotency-Replayed")).toBe("true");
    expect(await response.text()).toBe(first);
  });

  test.each([
    "",
    '""',
    "x".repeat(256),
    `"${"x".repeat(256)}"`,
    "a b",
    '"a b"',
    '"abc',
    '"',
    '"a"b"',
    '"a\\b"',
    '"a\\',
    "a\u0001b",
    "ä",
    "a, b",
  ])("cannot be %j", async (value) => {
    const message = await expectError((await create(value)).response, "invalid_request");
    expect(message).toMatch(/^Idempotency-Key /);
    expect(await count("pets")).toBe(0);
  });

  test("is case-sensitive in its value", async () => {
    await create("k1");
    expect((await create("K1")).response.headers.get("Idempotency-Replayed")).toBeNull();
  });

  test("is ignored by operations that read", async () => {
    expect((await call("/v1/pets", { key, headers: { "Idempotency-Key": "" } })).status).toBe(200);
  });
});

test("of many concurrent requests with one key, one creates the animal and all get its response", async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => create("k1")));
  const bodies = await Promise.all(answers.map(({ response }) => response.text()));
  expect(new Set(bodies).size).toBe(1);
  expect(new Set(answers.map(({ response }) => response.status))).toEqual(new Set([201]));
  expect(answers.filter(({ response }) => !response.headers.has("Idempotency-Replayed"))).toHaveLength(1);
  expect(await count("pets")).toBe(1);
});

describe("when D1 fails", () => {
  const MOMENTS = ["before", "after"] as const;

  test.each(TRANSIENT_ERRORS.flatMap((message) => MOMENTS.map((when) => ({ message, when }))))(
    "$message ($when the write): the service retries",
    async (fault) => {
      for (const failures of [1, 2]) {
        const { response, roundTrips } = await create(`k${failures}`, { faults: Array<Fault>(failures).fill(fault) });
        expect(await expectJson(response, 201)).toEqual({ id: expect.any(Number), ...REX });
        expect(roundTrips).toBe(failures + 1);
        expect(await count("pets")).toBe(failures);
      }
    },
  );

  test.each(TRANSIENT_ERRORS.flatMap((message) => MOMENTS.map((when) => ({ message, when }))))(
    "$message ($when the write) on every attempt: 503, and the client's retry gets the right response",
    async (fault) => {
      const { response, roundTrips } = await create("k1", { faults: [fault, fault, fault] });
      await expectError(response, "service_unavailable");
      expect(response.headers.get("Retry-After")).toBe("5");
      expect(roundTrips).toBe(3);
      expect(await count("pets")).toBe(fault.when === "after" ? 1 : 0);

      const retry = await create("k1");
      expect(await expectJson(retry.response, 201)).toEqual({ id: expect.any(Number), ...REX });
      expect(retry.response.headers.get("Idempotency-Replayed")).toBe(fault.when === "after" ? "true" : null);
      expect(await count("pets")).toBe(1);
    },
  );

  test.each(LASTING_ERRORS.flatMap((message) => MOMENTS.map((when) => ({ message, when }))))(
    "$message ($when the write): 503 at once, and the client's retry gets the right response",
    async (fault) => {
      const { response, roundTrips } = await create("k1", { faults: [fault] });
      await expectError(response, "service_unavailable");
      expect(roundTrips).toBe(1);
      expect((await create("k1")).response.status).toBe(201);
      expect(await count("pets")).toBe(1);
    },
  );

  test.each(TRANSIENT_ERRORS)("%s: a creation without a key is never repeated", async (message) => {
    for (const when of MOMENTS) {
      const { DB, roundTrips } = faultyDatabase({ when, message });
      const before = (await count("pets")) ?? 0;
      const response = await call("/v1/pets", { method: "POST", key, body: REX, bindings: { DB } });
      await expectError(response, "service_unavailable");
      expect(roundTrips()).toBe(1);
      expect(await count("pets")).toBe(before + (when === "after" ? 1 : 0));
    }
  });

  test("waits longer before each retry, for a random time", async () => {
    const wait = vi.spyOn(scheduler, "wait").mockResolvedValue();
    const fault: Fault = { when: "before", message: "D1_ERROR: Network connection lost." };
    for (let i = 0; i < 20; i++) await create("k1", { faults: [fault, fault, fault] });
    const delays = wait.mock.calls.map(([delay]) => delay);
    wait.mockRestore();
    expect(delays).toHaveLength(40);
    for (const [index, delay] of delays.entries()) {
      const backoff = index % 2 === 0 ? 50 : 100;
      expect(delay).toBeGreaterThanOrEqual(backoff / 2);
      expect(delay).toBeLessThanOrEqual(backoff);
    }
    expect(new Set(delays).size).toBeGreaterThan(30);
  });
});

describe("the scheduled job", () => {
  const DAY = 24 * 60 * 60;

  async function run(): Promise<void> {
    const context = createExecutionContext();
    await worker.scheduled(createScheduledController(), env);
    await waitOnExecutionContext(context);
  }

  async function age(idempotencyKey: string, seconds: number): Promise<void> {
    await env.DB.prepare("UPDATE idempotency_keys SET created_at = unixepoch() - ? WHERE idempotency_key = ?")
      .bind(seconds, idempotencyKey)
      .run();
  }

  async function fill(count: number, createdAt: string): Promise<void> {
    await env.DB.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, resource_id, created_at) SELECT 'a', i, 'f', i, ${createdAt} FROM n`,
    );
  }

  test("forgets a key after 24 hours, and not before", async () => {
    for (const name of ["old", "young", "new"]) await create(name);
    await age("old", DAY + 1);
    await age("young", DAY - 60);
    await run();
    const { results } = await env.DB.prepare("SELECT idempotency_key AS name FROM idempotency_keys ORDER BY id").all();
    expect(results.map(({ name }) => name)).toEqual(["young", "new"]);
    expect(await count("pets")).toBe(3);
    expect((await create("young")).response.headers.get("Idempotency-Replayed")).toBe("true");
    expect((await create("old")).response.headers.get("Idempotency-Replayed")).toBeNull();
  });

  test("forgets any number of keys", async () => {
    await fill(3 * BATCH_SIZE, "0");
    await create("new");
    await run();
    expect(await count("idempotency_keys")).toBe(1);
  });

  test("reads at most one batch when no key has expired", async () => {
    await fill(3 * BATCH_SIZE, "unixepoch()");
    const prepare = vi.spyOn(env.DB, "prepare");
    await run();
    const [sql] = prepare.mock.calls[0] ?? [];
    prepare.mockRestore();
    const { meta } = await env.DB.prepare(sql ?? "")
      .bind(BATCH_SIZE, DAY)
      .run();
    // A row for the list of oldest ids, its copy, and the entry itself.
    expect(meta.rows_read).toBeLessThanOrEqual(3 * BATCH_SIZE);
  });
});
