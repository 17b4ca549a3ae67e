// What a batch of changes, or of an import, has in common with one of new animals is in create-many.test.ts.
import { expect, expectTypeOf, test } from "vitest";
import type { ImportedPet, PetChange, Progress, UpdateProgress, UpsertProgress } from "../../../client/src/index.ts";
import { ANIMAL, broken, errorOf, failure, fakeService, json, type Reply, type Sent } from "./fake-service.ts";

const FIRST = 2n ** 62n + 1n;

const changes = (length: number) =>
  Array.from({ length }, (_, index): PetChange => ({ id: FIRST + BigInt(index), version: 1, name: `${index}` }));
const idsOf = ({ body = "" }: Sent) => [...body.matchAll(/"id":(\d+)/g)].map(([, id]) => id);

/** A service that makes changes, after these failures. Those that are undefined are successes. */
function batchService(...faults: (Reply | undefined)[]) {
  const reply: Reply = (sent) => {
    const animals = idsOf(sent).map((id) => `{"id":${id},"name":"","categoryId":1,"status":"sold","version":2}`);
    return (faults.shift() ?? json(200, `[${animals.join()}]`))(sent);
  };
  return fakeService([reply]);
}

async function* slowly<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  for (const item of items) yield item;
}

// Promise: update-many
test.each([
  [0, []],
  [1, [1]],
  [101, [100, 1]],
  [250, [100, 100, 50]],
])("%d changes are made in order, in batches of %j", async (count, sizes) => {
  for (const source of [changes(count), slowly(changes(count))]) {
    const { store, sent } = batchService();
    expect(await store.pets.updateMany(source, { idempotencyKey: "run" })).toBe(count);
    expect(sent.flatMap(idsOf)).toEqual(changes(count).map(({ id }) => String(id)));
    expect(sent.map((request) => idsOf(request).length)).toEqual(sizes);
    for (const [index, { method, path, headers }] of sent.entries()) {
      expect([method, path, headers["content-type"]]).toEqual(["PATCH", "/pets/batch", "application/json"]);
      expect(headers["idempotency-key"]).toBe(`run-${index * 100}`);
    }
  }
});

// Promise: update-many-versions
test("a change has the exact id, and omits what is undefined", async () => {
  const { store, sent } = batchService();
  await store.pets.updateMany([
    { id: "9223372036854775807", categoryId: -(2n ** 63n), version: undefined },
    { id: 5, version: 3, status: "sold" },
  ]);
  expect(sent[0]?.body).toBe(
    '[{"id":9223372036854775807,"categoryId":-9223372036854775808},{"id":5,"version":3,"status":"sold"}]',
  );
  expect(await errorOf(store.pets.updateMany([{ id: 2 ** 53 }]))).toBeInstanceOf(RangeError);
  expect(sent).toHaveLength(1);
});

// Promise: update-many-twice
test("an id that the present batch has begins a new one", async () => {
  const { store, sent } = batchService();
  const ids = [1, 2, 3n, "1", 1n, 2, "02", 4];
  expect(await store.pets.updateMany(ids.map((id) => ({ id })))).toBe(ids.length);
  expect(sent.map(idsOf)).toEqual([["1", "2", "3"], ["1"], ["1", "2"], ["2", "4"]]);
});

test("new animals may have any ids, which the service ignores", async () => {
  const animals = Array.from({ length: 3 }, () => ({ id: 1, name: "Rex", categoryId: 1, status: "sold" }) as const);
  const { store, sent } = fakeService([json(201, JSON.stringify(animals))]);
  expect(await store.pets.createMany(animals)).toBe(3);
  expect(sent).toHaveLength(1);
});

// Promise: progress-of-errors, update-many, update-many-errors
test.each([
  [404, "not_found"],
  [409, "pet_on_order"],
  [412, "precondition_failed"],
])("%d ends the call with the number of changes before its batch", async (status, code) => {
  const { store, sent } = batchService(undefined, undefined, failure(status, code));
  const told: number[] = [];
  const error = await errorOf(store.pets.updateMany(changes(500), { onProgress: ({ done }) => told.push(done) }));
  expect(error).toMatchObject({ code, status, done: 200, created: undefined });
  expect([told, sent.length]).toEqual([[100, 200], 3]);
});

test("the caller is told each batch with its animals and their versions", async () => {
  const { store } = batchService();
  const told: UpdateProgress[] = [];
  await store.pets.updateMany(changes(101), { onProgress: (progress) => told.push(progress) });
  expectTypeOf<Progress["animals"][number]["id"]>().toEqualTypeOf<bigint>();
  expectTypeOf<UpdateProgress["animals"][number]>().toMatchObjectType<{
    id: bigint;
    name: string;
    categoryId: bigint;
    status: "available" | "pending" | "sold";
    version: number;
  }>();
  expect(told.map(({ done, animals }) => [done, animals.length])).toEqual([
    [100, 100],
    [101, 1],
  ]);
  expect(told[1]?.animals).toEqual([{ id: FIRST + 100n, name: "", categoryId: 1n, status: "sold", version: 2 }]);
});

test.each(["[]", '[{"id":1,"name":"","categoryId":1,"status":"sold"}]'])(
  "a response without an animal or its version is none of the service: %s",
  async (body) => {
    const { store } = fakeService([json(200, body)], { retry: { attempts: 1 } });
    expect(await errorOf(store.pets.updateMany([{ id: 1 }]))).toMatchObject({ code: "unexpected_response" });
  },
);

const imported = (length: number, name = "Rex") =>
  Array.from({ length }, (_, index): ImportedPet => ({ externalId: `SKU-${index}`, name, categoryId: FIRST }));
const externalIdsOf = ({ body = "" }: Sent) => [...body.matchAll(/"externalId":"([^"]+)"/g)].map(([, id]) => id);

/** A service that imports what it does not know. A broken connection comes after the import. */
function importService(...faults: (Reply | undefined)[]) {
  const known = new Set<string | undefined>();
  const reply: Reply = (sent) => {
    const fault = faults.shift();
    if (fault !== undefined && fault !== broken) return fault(sent);
    const animals = externalIdsOf(sent).map((id) => {
      const result = known.has(id) ? "unchanged" : "created";
      known.add(id);
      return `{"id":1,"name":"Rex","categoryId":1,"status":"sold","externalId":"${id}","version":1,"result":"${result}"}`;
    });
    return (fault ?? json(200, `[${animals.join()}]`, { "Ignored-Fields": '"price"' }))(sent);
  };
  return fakeService([reply]);
}

// Promise: upsert-many, warnings, what-methods-return
test.each([
  [0, []],
  [100, [100]],
  [250, [100, 100, 50]],
])("%d animals are imported in order, in batches of %j", async (count, sizes) => {
  for (const source of [imported(count), new Set(imported(count)), slowly(imported(count))]) {
    const { store, sent } = importService();
    const told: UpsertProgress[] = [];
    expect(await store.pets.upsertMany(source, { onProgress: (progress) => told.push(progress) })).toBe(count);
    expect(sent.flatMap(externalIdsOf)).toEqual(imported(count).map(({ externalId }) => externalId));
    expect(sent.map((request) => externalIdsOf(request).length)).toEqual(sizes);
    for (const { method, path, headers, body } of sent) {
      expect([method, path, headers["content-type"]]).toEqual(["PUT", "/pets/batch", "application/json"]);
      expect(headers).not.toHaveProperty("idempotency-key");
      expect(body).toContain(`"categoryId":${FIRST}}`);
    }
    expect(told.map(({ done, animals }) => [done, animals.length])).toEqual(
      sizes.map((size, at) => [100 * at + size, size]),
    );
    for (const { animals, warnings } of told) {
      expect(warnings).toEqual(["price"]);
      for (const { version, result } of animals) expect([version, result]).toEqual([1, "created"]);
    }
  }
});

// Promise: upsert-many
test("a batch of long names has at most 64 KiB", async () => {
  const { store, sent } = importService();
  await store.pets.upsertMany(imported(100, "🐕".repeat(255)));
  expect(sent.map((request) => externalIdsOf(request).length)).toEqual([60, 40]);
  for (const { body = "" } of sent) expect(new TextEncoder().encode(body).byteLength).toBeLessThanOrEqual(64 * 1024);
});

// Promise: upsert-many-goes-on, upsert-many-results, what-is-repeated
test.each([
  ["a lost response", broken],
  ["a 503", failure(503, "service_unavailable")],
  ["a 429", failure(429, "rate_limited", { "Retry-After": "0" })],
])("a batch is sent again after %s", async (_, fault) => {
  const { store, sent } = importService(undefined, fault);
  const results: string[] = [];
  const onProgress = ({ animals }: UpsertProgress) => results.push(...new Set(animals.map(({ result }) => result)));
  expect(await store.pets.upsertMany(imported(201), { onProgress })).toBe(201);
  expect(sent[2]).toMatchObject({ body: sent[1]?.body });
  expect(sent).toHaveLength(4);
  expect(results).toEqual(["created", fault === broken ? "unchanged" : "created", "created"]);
});

// Promise: progress-of-errors, upsert-many-errors, upsert-many-goes-on
test("an error ends the import, and another run goes through all of it", async () => {
  const { store, sent } = importService(undefined, undefined, failure(409, "pet_on_order"));
  const error = await errorOf(store.pets.upsertMany(imported(250)));
  expect(error).toMatchObject({ code: "pet_on_order", done: 200, created: undefined, idempotencyKey: undefined });
  const results: string[] = [];
  const onProgress = ({ animals }: UpsertProgress) => results.push(...animals.map(({ result }) => result));
  await store.pets.upsertMany(imported(250), { onProgress });
  expect(sent).toHaveLength(6);
  expect(results).toEqual([...Array<string>(200).fill("unchanged"), ...Array<string>(50).fill("created")]);
});

// Promise: upsert-many-errors
test("the service is told both animals of one identifier, which it refuses", async () => {
  const { store, sent } = importService(failure(400, "invalid_request"));
  const animals = [...imported(2), ...imported(1, "Max")];
  expect(await errorOf(store.pets.upsertMany(animals))).toMatchObject({ code: "invalid_request", done: 0 });
  expect(sent.map(externalIdsOf)).toEqual([["SKU-0", "SKU-1", "SKU-0"]]);
});

// Promise: warnings
test.each([
  [undefined, []],
  ['"sku", "price"', ["sku", "price"]],
  ['"a\\"b\\\\c", "", %"gr%c3%b6%c3%9fe\\"', ['a"b\\c', "", "größe\\"]],
  ['%"%zz", "x"', ["%zz", "x"]],
  ["sku", []],
  ['"', []],
])("the names in Ignored-Fields are warnings: %j", async (header, warnings) => {
  const { store } = fakeService([json(201, ANIMAL, header === undefined ? {} : { "Ignored-Fields": header })]);
  expect((await store.pets.create({ name: "Rex", categoryId: 1 })).warnings).toEqual(warnings);
});
