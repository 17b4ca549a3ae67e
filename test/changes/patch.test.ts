// The rules of PATCH that all resources share: If-Match is strict, and with an Idempotency-Key a patch is applied once.
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { call, expectError } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault, faultyDatabase } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";

interface Kind {
  name: string;
  /** Creates a resource and returns its path. */
  create: () => Promise<string>;
  /** Changes it. */
  change: object;
  /** Another change of the same operation. */
  other: object;
  /** A patch that leaves a new resource unchanged. */
  nothing: object;
  invalid: object;
  /** Another change by somebody else, after which `change` would have a different effect. */
  disturb: (path: string) => Promise<unknown>;
  /** Makes `change` conflict, and returns the error code. */
  conflict: (path: string) => Promise<"pet_on_order" | "category_exists" | "order_cancelled">;
  /** Removes the conflict. */
  appease?: (path: string) => Promise<unknown>;
}

let key: string;
beforeAll(async () => {
  key = await grantKey();
  // Retries need not wait here.
  vi.spyOn(scheduler, "wait").mockResolvedValue();
});

afterAll(() => {
  vi.restoreAllMocks();
});

async function create(collection: string, body: object): Promise<string> {
  const response = await call(collection, { method: "POST", key, body });
  expect(response.status).toBe(201);
  return response.headers.get("Location") ?? "";
}
const unique = () => crypto.randomUUID();
const idOf = (path: string) => Number(path.split("/").at(-1));
const send = (method: string, path: string, body?: object) =>
  call(path, { method, key, ...(body === undefined ? {} : { body }) });

let taken: string;
let orderOfPet: string;
const KINDS: Kind[] = [
  {
    name: "an animal",
    create: () => create("/v1/pets", { name: "Rex", categoryId: 7 }),
    change: { status: "pending" },
    other: { status: "sold" },
    nothing: { name: "Rex", status: "available" },
    invalid: { status: "gone" },
    disturb: (path) => send("PATCH", path, { status: "available", name: "Max" }),
    async conflict(path) {
      orderOfPet = await create("/v1/store/orders", { petId: idOf(path) });
      return "pet_on_order";
    },
    appease: () => send("DELETE", orderOfPet),
  },
  {
    name: "a category",
    create: () => create("/v1/categories", { name: unique(), description: "x" }),
    get change() {
      return { name: taken };
    },
    other: { description: "z" },
    nothing: { description: "x" },
    invalid: { name: "" },
    disturb: (path) => send("PATCH", path, { name: unique() }),
    async conflict() {
      await create("/v1/categories", { name: taken });
      return "category_exists";
    },
  },
  {
    name: "an order",
    create: async () =>
      create("/v1/store/orders", { petId: idOf(await create("/v1/pets", { name: "Rex", categoryId: 7 })) }),
    change: { status: "shipped" },
    other: { status: "shipped", shipDate: "2026-11-22T09:30:00Z" },
    nothing: {},
    invalid: { status: "lost" },
    disturb: (path) => send("PATCH", path, { status: "shipped" }),
    async conflict(path) {
      await send("DELETE", path);
      return "order_cancelled";
    },
  },
];

describe.each(KINDS)("a PATCH of $name", (kind) => {
  let path: string;
  let idempotencyKey: string;
  beforeEach(async () => {
    taken = unique();
    idempotencyKey = unique();
    path = await kind.create();
  });

  const patch = (body: object, headers: Record<string, string> = {}, ...faults: Fault[]) =>
    call(path, { method: "PATCH", key, body, headers, bindings: { DB: faultyDatabase(...faults).DB } });
  const once = (body: object, headers: Record<string, string> = {}, ...faults: Fault[]) =>
    patch(body, { "Idempotency-Key": idempotencyKey, ...headers }, ...faults);
  const tag = (response: Response) => response.headers.get("ETag");
  const present = async () => tag(await patch({}));

  async function expectReplay(response: Response, first: { body: string; tag: string | null }): Promise<void> {
    expect(response.status).toBe(200);
    expect(response.headers.get("Idempotency-Replayed")).toBe("true");
    expect(tag(response)).toBe(first.tag);
    expect(await response.text()).toBe(first.body);
  }
  async function firstOf(response: Response) {
    expect(response.status).toBe(200);
    expect(response.headers.get("Idempotency-Replayed")).toBeNull();
    return { body: await response.text(), tag: tag(response) };
  }

  describe("with If-Match", () => {
    test("that names the same version twice takes effect once, also when both patches are equal", async () => {
      const headers = { "If-Match": '"1"' };
      const responses = await Promise.all([patch(kind.change, headers), patch(kind.change, headers)]);
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 412]));
      await expectError(await patch(kind.change, headers), "precondition_failed");
      expect(await present()).toBe('"2"');
    });

    test("that changes nothing keeps the version", async () => {
      for (let i = 0; i < 2; i++) expect(tag(await patch(kind.nothing, { "If-Match": '"1"' }))).toBe('"1"');
    });

    test.each(TRANSIENT_ERRORS)("is not repeated by the service without a key: %s", async (message) => {
      const { DB, roundTrips } = faultyDatabase({ when: "after", message });
      const headers = { "If-Match": '"1"' };
      const response = await call(path, { method: "PATCH", key, body: kind.change, headers, bindings: { DB } });
      await expectError(response, "service_unavailable");
      expect(roundTrips()).toBe(1);
    });
  });

  describe("with an Idempotency-Key", () => {
    test.each([{}, { "If-Match": '"1"' }])("is applied once, even after other changes: %o", async (headers) => {
      const first = await firstOf(await once(kind.change, headers));
      expect(first.tag).toBe('"2"');
      expect(first.body).toBe(await (await patch({})).text());
      await expectReplay(await once(kind.change, headers), first);
      await kind.disturb(path);
      const now = await present();
      await expectReplay(await once(kind.change, headers), first);
      expect(await present()).toBe(now);
    });

    test("is replayed after a deletion", async () => {
      const first = await firstOf(await once(kind.change));
      await send("DELETE", path);
      await expectReplay(await once(kind.change), first);
    });

    test.each([{}, { "If-Match": '"1"' }])("uses the key when it changes nothing: %o", async (headers) => {
      for (const body of [kind.nothing, {}]) {
        idempotencyKey = unique();
        path = await kind.create();
        const first = await firstOf(await once(body, headers));
        expect(first.tag).toBe('"1"');
        await kind.disturb(path);
        const now = await present();
        await expectReplay(await once(body, headers), first);
        expect(await present()).toBe(now);
      }
    });

    test("leaves the key unused when it is invalid", async () => {
      await expectError(await once(kind.invalid), "invalid_request");
      await expectError(await once(kind.change, { "If-Match": "1" }), "invalid_request");
      expect((await firstOf(await once(kind.change))).tag).toBe('"2"');
    });

    test("leaves the key unused when the resource does not exist", async () => {
      const nowhere = path.replace(/\d+$/, "999999999");
      const request = { method: "PATCH", key, body: kind.change, headers: { "Idempotency-Key": idempotencyKey } };
      await expectError(await call(nowhere, request), "not_found");
      expect((await firstOf(await once(kind.change))).tag).toBe('"2"');
    });

    test("leaves the key unused when it conflicts", async () => {
      const code = await kind.conflict(path);
      await expectError(await once(kind.change), code);
      await expectError(await once(kind.change, { "If-Match": '"99"' }), code);
      await kind.appease?.(path);
      // A different request. The key would refuse it if the conflict had stored the first.
      const harmless = kind.appease === undefined ? {} : kind.other;
      await firstOf(await once(harmless));
    });

    test("leaves the key unused when the version does not match", async () => {
      await expectError(await once(kind.change, { "If-Match": '"2"' }), "precondition_failed");
      await expectError(await once(kind.nothing, { "If-Match": '"2"' }), "precondition_failed");
      await expectError(await once({}, { "If-Match": '"2"' }), "precondition_failed");
      expect((await firstOf(await once(kind.change))).tag).toBe('"2"');
    });

    test("is 422 with another request, before 404 and 412", async () => {
      const first = await firstOf(await once(kind.change));
      await expectError(await once(kind.other), "idempotency_key_reused");
      await expectError(await once({}), "idempotency_key_reused");
      await expectError(await once(kind.change, { "If-Match": '"1"' }), "idempotency_key_reused");
      await expectError(await once(kind.change, { "If-Match": '"7"' }), "idempotency_key_reused");
      const headers = { "Idempotency-Key": idempotencyKey };
      const nowhere = path.replace(/\d+$/, "999999999");
      await expectError(
        await call(nowhere, { method: "PATCH", key, body: kind.change, headers }),
        "idempotency_key_reused",
      );
      const another = await kind.create();
      await expectError(
        await call(another, { method: "PATCH", key, body: kind.change, headers }),
        "idempotency_key_reused",
      );
      // A refused patch changes nothing.
      expect(tag(await call(another, { method: "PATCH", key, body: {} }))).toBe('"1"');
      await expectReplay(await once(kind.change), first);
    });

    test("is the same request with other bytes and with a weak tag", async () => {
      const headers = { "If-Match": '"1"' };
      const first = await firstOf(await once(kind.change, headers));
      await expectReplay(await once({ x: 1, ...kind.change }, { "If-Match": 'W/"1"' }), first);
    });

    test("belongs to the API key", async () => {
      await firstOf(await once(kind.change));
      const headers = { "Idempotency-Key": idempotencyKey };
      const stranger = await call(path, { method: "PATCH", key: await grantKey(), body: kind.other, headers });
      expect(stranger.headers.get("Idempotency-Replayed")).toBeNull();
      expect(stranger.status).toBe(200);
    });

    test.each(TRANSIENT_ERRORS)("is repeated by the service, before and after the write: %s", async (message) => {
      for (const when of ["before", "after"] as const) {
        idempotencyKey = unique();
        taken = unique();
        path = await kind.create();
        const response = await once(kind.change, { "If-Match": '"1"' }, { when, message });
        expect([response.status, tag(response)]).toEqual([200, '"2"']);
      }
    });

    test("can be repeated by the client after a permanent error", async () => {
      const fault = { when: "after" as const, message: LASTING_ERRORS[0] ?? "" };
      await expectError(await once(kind.change, { "If-Match": '"1"' }, fault), "service_unavailable");
      await kind.disturb(path);
      const response = await once(kind.change, { "If-Match": '"1"' });
      expect([response.status, tag(response)]).toEqual([200, '"2"']);
      expect(response.headers.get("Idempotency-Replayed")).toBe("true");
    });

    test("is applied once when twenty requests race", async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => once(kind.change, { "If-Match": '"1"' })));
      expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
      expect(responses.filter(({ headers }) => headers.has("Idempotency-Replayed"))).toHaveLength(19);
      expect(new Set(responses.map(tag))).toEqual(new Set(['"2"']));
    });

    test.each(["", " ", "ü", "x".repeat(256), '"x'])("refuses the key %j", async (value) => {
      await expectError(await once(kind.change, { "Idempotency-Key": value }), "invalid_request");
    });
  });
});

test("a patch without a field differs from one with null", async () => {
  const path = await create("/v1/categories", { name: unique(), description: "x" });
  const headers = { "Idempotency-Key": unique() };
  const name = unique();
  expect((await call(path, { method: "PATCH", key, body: { name }, headers })).status).toBe(200);
  const other = await call(path, { method: "PATCH", key, body: { name, description: null }, headers });
  await expectError(other, "idempotency_key_reused");
});

test("a shipment without a precondition is repeated by the service", async () => {
  const pet = await create("/v1/pets", { name: "Rex", categoryId: 7 });
  const path = await create("/v1/store/orders", { petId: idOf(pet) });
  const { DB } = faultyDatabase({ when: "after", message: TRANSIENT_ERRORS[0] ?? "" });
  const response = await call(path, { method: "PATCH", key, body: { status: "shipped" }, bindings: { DB } });
  expect([response.status, response.headers.get("ETag")]).toEqual([200, '"2"']);
});

test("a shipment under a key changes the animal once, and one that changes nothing leaves it unchanged", async () => {
  const pet = await create("/v1/pets", { name: "Rex", categoryId: 7 });
  const path = await create("/v1/store/orders", { petId: idOf(pet) });
  for (let i = 0; i < 3; i++) {
    const headers = { "Idempotency-Key": unique() };
    const response = await call(path, { method: "PATCH", key, body: { status: "shipped" }, headers });
    expect([response.status, response.headers.get("ETag")]).toEqual([200, '"2"']);
    const animal = await call(pet, { key });
    expect([animal.headers.get("ETag"), (await animal.json<{ status: string }>()).status]).toEqual(['"3"', "sold"]);
  }
});

// The first digits of it. Another fingerprint would refuse the retry of a client whose first attempt came before a release.
test.each([
  ["an animal", "PATCH", "/v1/pets/4242", { name: "Max" }, "4476d57f243445e9"],
  ["a category", "PATCH", "/v1/categories/4242", { description: null }, "bd15933ec9835bd0"],
  [
    "an order",
    "PATCH",
    "/v1/store/orders/4242",
    { status: "shipped", shipDate: "2026-11-22T08:30:00Z" },
    "64e7aa796be7d146",
  ],
  ["a batch", "POST", "/v1/pets/batch", [{ name: "Rex", categoryId: 7 }], "6ab15b19c05fa2b9"],
  ["a new category", "POST", "/v1/categories", { name: "Pinned" }, "e9504094da2c34f4"],
  ["a new order", "POST", "/v1/store/orders", { petId: 4243 }, "de382c5f1de54b7a"],
])(
  "the fingerprint of the request for %s stays the same in every release",
  async (_, method, path, body, fingerprint) => {
    await env.DB.batch([
      env.DB.prepare(
        "INSERT OR REPLACE INTO pets (id, name, category_id, status) VALUES (4242, 'Rex', 7, 'available')",
      ),
      env.DB.prepare(
        "INSERT OR REPLACE INTO pets (id, name, category_id, status) VALUES (4243, 'Rex', 7, 'available')",
      ),
      env.DB.prepare("INSERT OR REPLACE INTO categories (id, name) VALUES (4242, 'Pinned too')"),
      env.DB.prepare(
        "INSERT OR REPLACE INTO orders (id, pet_id, status, created_at) VALUES (4242, 4242, 'placed', '2026-11-22T08:00:00.000Z')",
      ),
    ]);
    const idempotencyKey = unique();
    const headers = { "Idempotency-Key": idempotencyKey, ...(method === "PATCH" ? { "If-Match": '"1", W/"9"' } : {}) };
    expect((await call(path, { method, key, body, headers })).ok).toBe(true);
    const entry = await env.DB.prepare("SELECT fingerprint FROM idempotency_keys WHERE idempotency_key = ?")
      .bind(idempotencyKey)
      .first<string>("fingerprint");
    expect(entry?.slice(0, 16)).toBe(fingerprint);
  },
);
