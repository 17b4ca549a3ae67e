// What a batch of changes has in common with one of new animals is in create-many.test.ts.
import { expect, expectTypeOf, test } from "vitest";
import type { PetChange, Progress, UpdateProgress } from "../../../client/src/index.ts";
import { errorOf, failure, fakeService, json, type Reply, type Sent } from "./fake-service.ts";

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
