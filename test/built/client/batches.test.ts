import { describe, expect, expectTypeOf, onTestFinished, test, vi } from "vitest";
import type {
  ImportedPet,
  NewPet,
  PetStore,
  Progress,
  UpdateProgress,
  UpsertProgress,
} from "../../../client/src/index.ts";
import {
  ANIMAL,
  BOOKMARKS,
  broken,
  errorOf,
  failure,
  fakeService,
  json,
  ORDER,
  type Reply,
  type Sent,
} from "./fake-service.ts";

const MAX_BYTES = 64 * 1024;
const FIRST = 2n ** 62n + 1n;

/** An item that every method takes. */
const itemOf = (index: number, name = `Animal ${index}`) => ({
  id: FIRST + BigInt(index),
  externalId: `SKU-${index}`,
  name,
  categoryId: FIRST,
});
const items = (length: number) => Array.from({ length }, (_, index) => itemOf(index));
type Item = ReturnType<typeof itemOf>;

const bytesOf = ({ body = "" }: Sent) => new TextEncoder().encode(body).byteLength;
const namesOf = ({ body = "" }: Sent) => (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
const sizesOf = (sent: Sent[]) => sent.map((request) => namesOf(request).length);
const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers["idempotency-key"]);

/** A service that stores each batch once for each key, after these faults. Those that are undefined are successes. */
function batchService(...faults: (Reply | undefined)[]) {
  const stored: string[] = [];
  const responses = new Map<string, string>();
  const reply: Reply = async (sent) => {
    const fault = faults.shift();
    // A fault with a status comes before the write, and a broken connection after it.
    if (fault !== undefined && fault !== broken) return fault(sent);
    const key = sent.headers["idempotency-key"];
    const done = responses.get(key ?? "");
    const animals = namesOf(sent).map((name) => {
      const result = stored.includes(name) ? "unchanged" : "created";
      if (done === undefined) stored.push(name);
      return `{"id":7,"name":${JSON.stringify(name)},"categoryId":1,"status":"sold","version":2,"result":"${result}"}`;
    });
    const response = done ?? `[${animals.join()}]`;
    if (key !== undefined) responses.set(key, response);
    return fault === broken ? broken(sent) : json(200, response, { "Ignored-Fields": '"price"' })(sent);
  };
  return { ...fakeService([reply]), stored };
}

async function* slowly<One>(source: Iterable<One>): AsyncGenerator<One> {
  for (const item of source) yield item;
}

interface Options {
  idempotencyKey?: string;
  onProgress?: (progress: Partial<Progress & UpsertProgress>) => void;
  signal?: AbortSignal;
}
const METHODS = [
  ["createMany", "POST", "created"],
  ["updateMany", "PATCH", "done"],
  ["upsertMany", "PUT", "done"],
] as const;

describe.each(METHODS)("%s", (name, httpMethod, count) => {
  const run = (store: PetStore, source: Iterable<Item> | AsyncIterable<Item>, options: Options = {}) =>
    (store.pets[name] as (source: unknown, options: Options) => Promise<number>).call(store.pets, source, options);
  const hasKeys = name !== "upsertMany";

  // Promise: create-many-batches, update-many, upsert-many, warnings, what-methods-return
  test.each([
    [0, []],
    [1, [1]],
    [99, [99]],
    [100, [100]],
    [101, [100, 1]],
    [250, [100, 100, 50]],
  ])("sends %d items in order, in batches of %j, and tells each batch", async (length, sizes) => {
    for (const source of [items(length), new Set(items(length)), slowly(items(length))]) {
      const { store, sent, stored } = batchService();
      const told: Parameters<NonNullable<Options["onProgress"]>>[0][] = [];
      const onProgress = (progress: (typeof told)[number]) => void told.push(progress);
      expect(await run(store, source, { onProgress, ...(hasKeys && { idempotencyKey: "run" }) })).toBe(length);
      expect(stored).toEqual(items(length).map((item) => item.name));
      expect(sizesOf(sent)).toEqual(sizes);
      expect(keysOf(sent)).toEqual(sizes.map((_, index) => (hasKeys ? `run-${index * 100}` : undefined)));
      for (const { method, path, headers, body } of sent) {
        expect([method, path, headers["content-type"]]).toEqual([httpMethod, "/pets/batch", "application/json"]);
        expect(body).toContain(`"categoryId":${FIRST}}`);
      }
      expect(told).toEqual(
        sizes.map((size, index) => ({
          [count]: index * 100 + size,
          animals: stored.slice(index * 100, index * 100 + size).map((animal) => ({
            id: 7n,
            name: animal,
            categoryId: 1n,
            status: "sold",
            version: 2,
            result: "created",
          })),
          warnings: ["price"],
        })),
      );
    }
  });

  // Promise: what-is-repeated, upsert-many-goes-on, upsert-many-results
  test.each([
    ["a lost response", broken],
    ["a 503", failure(503, "service_unavailable")],
    ["a 429", failure(429, "rate_limited", { "Retry-After": "0" })],
  ])("sends a batch again after %s, the same with the same key", async (_fault, fault) => {
    const { store, sent, stored } = batchService(undefined, fault);
    const results: (string | undefined)[] = [];
    const onProgress = ({ animals = [] }: Partial<UpsertProgress>) => results.push(animals[0]?.result);
    expect(await run(store, items(201), { onProgress })).toBe(201);
    expect(sent).toHaveLength(4);
    expect([sent[2]?.body, keysOf(sent)[2]]).toEqual([sent[1]?.body, keysOf(sent)[1]]);
    expect(new Set(stored).size).toBe(201);
    expect(results).toEqual(["created", !hasKeys && fault === broken ? "unchanged" : "created", "created"]);
  });

  // Promise: create-many-errors, progress-of-errors, update-many-errors, upsert-many-errors
  test.each([
    [400, "invalid_request"],
    [404, "not_found"],
    [409, "pet_on_order"],
    [412, "precondition_failed"],
  ])("%d in a batch ends the call with the number before its batch, and closes the source", async (status, code) => {
    let closed = false;
    async function* source(): AsyncGenerator<Item> {
      try {
        yield* items(1_000);
      } finally {
        closed = true;
      }
    }
    const { store, sent, stored } = batchService(undefined, undefined, failure(status, code));
    const told: unknown[] = [];
    const error = await errorOf(run(store, source(), { onProgress: (progress) => told.push(progress[count]) }));
    expect(error).toMatchObject({ code, status, created: undefined, done: undefined, [count]: 200 });
    expect((error as { idempotencyKey?: string }).idempotencyKey === undefined).toBe(!hasKeys);
    expect([told, sent.length, stored.length, closed]).toEqual([[100, 200], 3, 200, true]);
  });

  test.each(["[]", "{}", '[{"id":1}]'])("takes %s, which is no batch of the service, for a failure", async (body) => {
    const { store } = fakeService([json(200, body)], { retry: { attempts: 1 } });
    expect(await errorOf(run(store, items(1)))).toMatchObject({ code: "unexpected_response" });
  });

  // Promise: errors-of-functions
  test("ends with the caller's own error, or the reason of the signal, between two batches", async () => {
    const failed = new Error("No more.");
    const controller = new AbortController();
    const throwing = () => {
      throw failed;
    };
    const aborting = () => controller.abort(failed);
    for (const options of [{ onProgress: throwing }, { signal: controller.signal, onProgress: aborting }]) {
      const { store, sent } = batchService();
      expect(await errorOf(run(store, items(300), options))).toBe(failed);
      expect(sent).toHaveLength(1);
    }
  });

  // Promise: signals
  test("ends with the reason of the signal also while the source has nothing, and closes the source later", async () => {
    let [next, closed] = [(): void => {}, false];
    async function* source(): AsyncGenerator<Item> {
      try {
        yield* items(150);
        await new Promise<void>((resolve) => (next = resolve));
        yield* items(100);
      } finally {
        closed = true;
      }
    }
    const { store, sent } = batchService();
    const controller = new AbortController();
    const error = errorOf(run(store, source(), { signal: controller.signal }));
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    await new Promise((resolve) => setTimeout(resolve, 10));
    controller.abort("enough");
    expect(await error).toBe("enough");
    next();
    await vi.waitFor(() => expect(closed).toBe(true));
    expect(sent).toHaveLength(1);
  });

  test("ends with an error of the source, and only whole batches are sent", async () => {
    const failed = new Error("The disk is gone.");
    for (const [length, whole] of [
      [250, 200],
      [100, 100],
      [0, 0],
    ] as const) {
      const { store, stored } = batchService();
      const source = function* (): Generator<Item> {
        yield* items(length);
        throw failed;
      };
      expect(await errorOf(run(store, source()))).toBe(failed);
      expect(stored).toHaveLength(whole);
    }
  });

  // Promise: create-many-goes-on
  test("ends before the batch of an integer that is not exact", async () => {
    const { store, stored } = batchService();
    const rounded = { ...itemOf(150), categoryId: (2 ** 53) as never };
    const error = await errorOf(run(store, [...items(150), rounded, ...items(100)]));
    expect(error).toBeInstanceOf(RangeError);
    expect(error).not.toHaveProperty("idempotencyKey");
    expect(stored).toHaveLength(100);
  });
});

// Promise: update-many-versions
test("a batch has the exact integers and omits what is undefined", async () => {
  const { store, sent } = fakeService([json(400, "")], { retry: { attempts: 1 } });
  await errorOf(store.pets.createMany([{ name: "Rex", categoryId: 2n ** 63n - 1n, status: undefined }]));
  await errorOf(
    store.pets.updateMany([
      { id: "9223372036854775807", categoryId: -(2n ** 63n), version: undefined },
      { id: 5, version: 3, status: "sold" },
    ]),
  );
  expect(sent.map(({ body }) => body)).toEqual([
    '[{"name":"Rex","categoryId":9223372036854775807}]',
    '[{"id":9223372036854775807,"categoryId":-9223372036854775808},{"id":5,"version":3,"status":"sold"}]',
  ]);
});

test("the types of the progress", () => {
  expectTypeOf<Progress["animals"][number]["id"]>().toEqualTypeOf<bigint>();
  expectTypeOf<UpdateProgress["animals"][number]>().toMatchObjectType<{
    id: bigint;
    name: string;
    status: "available" | "pending" | "sold";
    version: number;
  }>();
});

/** Animals whose array has this many bytes: characters of one, two, three and four bytes, and one that is escaped. */
function animalsOf(bytes: number, letter: string): NewPet[] {
  const frame = '{"name":"","categoryId":1}'.length;
  const size = new TextEncoder().encode(JSON.stringify(letter)).byteLength - 2;
  const [first, second] = [Math.floor((bytes / 2 - frame) / size), Math.floor((bytes / 2 - frame - 10) / size)];
  const rest = bytes - 3 - 2 * frame - (first + second) * size;
  return [
    { name: letter.repeat(first), categoryId: 1 },
    { name: letter.repeat(second) + "a".repeat(rest), categoryId: 1 },
  ];
}
const named = (length: number): NewPet[] => items(length).map(({ name }) => ({ name, categoryId: 1 }));

test.each<[what: string, before: NewPet[], letter: string]>([
  ...["a", "é", "ま", "🐕", "\u0001", '"'].map((letter): [string, NewPet[], string] => [letter, [], letter]),
  ["a batch that its bytes end", animalsOf(MAX_BYTES, "a"), "b"],
  ["a batch that its number ends", named(100), "b"],
])("a batch has up to 64 KiB, with its brackets and commas: %s", async (_what, before, letter) => {
  const whole = batchService();
  await whole.store.pets.createMany([...before, ...animalsOf(MAX_BYTES, letter)]);
  const earlier = before.length > 0 ? [before.length] : [];
  expect([sizesOf(whole.sent), whole.sent.map(bytesOf).at(-1)]).toEqual([[...earlier, 2], MAX_BYTES]);
  const cut = batchService();
  await cut.store.pets.createMany([...before, ...animalsOf(MAX_BYTES + 1, letter)]);
  expect(sizesOf(cut.sent)).toEqual([...earlier, 1, 1]);
  expect(cut.stored.slice(before.length)).toEqual(animalsOf(MAX_BYTES + 1, letter).map(({ name }) => name));
});

test("the service decides about an animal that is too large for any batch", async () => {
  const { store, sent } = batchService(undefined, failure(413, "payload_too_large"));
  const large = { name: "a".repeat(MAX_BYTES), categoryId: 1 };
  const error = await errorOf(store.pets.createMany([...named(1), large, ...named(1)]));
  expect(error).toMatchObject({ code: "payload_too_large" });
  expect(sizesOf(sent)).toEqual([1, 1]);
});

// Promise: update-many-twice
test("a change of an id that the present batch has begins a new one, and new animals may have any ids", async () => {
  const { store, sent } = fakeService([json(400, "")], { retry: { attempts: 1 } });
  const ids = [1, 2, 3n, "1", 1n, 2, "02", 4];
  const reply: Reply = ({ body = "" }) => {
    const animals = [...body.matchAll(/"id":(\d+)/g)].map(
      ([, id]) => `{"id":${id},"name":"","categoryId":1,"status":"","version":2}`,
    );
    return json(200, `[${animals.join()}]`)({} as never);
  };
  const changing = fakeService([reply]);
  expect(await changing.store.pets.updateMany(ids.map((id) => ({ id })))).toBe(ids.length);
  expect(changing.sent.map(({ body = "" }) => [...body.matchAll(/\d+/g)].map(Number))).toEqual([
    [1, 2, 3],
    [1],
    [1, 2],
    [2, 4],
  ]);
  await errorOf(store.pets.createMany(ids.map((id) => ({ id, name: "Rex", categoryId: 1 }))));
  expect(sizesOf(sent)).toEqual([ids.length]);
});

// Promise: upsert-many-errors, upsert-many-goes-on, upsert-many-results
test("another import goes through all of it, and the service is told both animals of one identifier", async () => {
  const { store, sent } = batchService(undefined, undefined, failure(409, "pet_on_order"));
  await errorOf(store.pets.upsertMany(items(250)));
  const results: string[] = [];
  const onProgress = ({ animals }: UpsertProgress) => results.push(...animals.map(({ result }) => result));
  await store.pets.upsertMany(items(250), { onProgress });
  expect(sent).toHaveLength(6);
  expect(results).toEqual([...Array<string>(200).fill("unchanged"), ...Array<string>(50).fill("created")]);
  const twice: ImportedPet[] = [...items(2), itemOf(0, "Max")];
  await store.pets.upsertMany(twice);
  expect(sizesOf(sent).at(-1)).toBe(3);
});

// Promise: create-many-goes-on, create-many-keys
test("another call with the same animals and the same key goes on where the first one ended", async () => {
  const { store, sent, stored } = batchService(undefined, undefined, broken, failure(401, "unauthorized"));
  const animals = [...named(150), ...animalsOf(MAX_BYTES, "a"), ...named(120)];
  const reached: number[] = [];
  const create = (source: Iterable<NewPet> | AsyncIterable<NewPet>) =>
    store.pets.createMany(source, { idempotencyKey: "run", onProgress: ({ created }) => reached.push(created) });
  expect(await errorOf(create(animals))).toMatchObject({ code: "unauthorized", idempotencyKey: "run" });
  expect(await create(slowly(animals))).toBe(animals.length);
  expect(stored).toEqual(animals.map(({ name }) => name));
  expect(reached).toEqual([100, 151, 100, 151, 251, 272]);
  expect(keysOf(sent)).toEqual(["run-0", "run-100", "run-151", "run-151", "run-0", "run-100", "run-151", "run-251"]);
});

// Promise: batches-wait-for-the-limit
test("a batch that meets the limit of its key waits for the next minute, and in a page ends the call", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const limited = failure(429, "rate_limited", { "Retry-After": "60" });
  const { store, sent, stored } = batchService(undefined, limited, undefined, limited, limited);
  const start = performance.now();
  const creation = store.pets.createMany(named(250), { idempotencyKey: "run" });
  await vi.runAllTimersAsync();
  expect(await creation).toBe(250);
  expect(performance.now() - start).toBeGreaterThanOrEqual(180_000);
  expect(keysOf(sent)).toEqual(["run-0", "run-100", "run-100", "run-200", "run-200", "run-200"]);
  expect(stored).toHaveLength(250);
  vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0" });
  onTestFinished(() => void vi.unstubAllGlobals());
  const page = batchService(undefined, limited);
  const refused = errorOf(page.store.pets.createMany(named(250), { idempotencyKey: "run" }));
  await vi.runAllTimersAsync();
  expect(await refused).toMatchObject({ code: "rate_limited", retryAfter: 60, created: 100, idempotencyKey: "run" });
});

test("two calls without a key have different keys", async () => {
  const { store, sent } = batchService();
  await store.pets.createMany(named(101));
  await store.pets.createMany(named(1));
  const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
  const [first = "", second = "", third = ""] = keysOf(sent);
  expect(first).toMatch(new RegExp(`^${uuid}-0$`));
  expect(second).toBe(first.replace(/0$/, "100"));
  expect(third).toMatch(new RegExp(`^${uuid}-0$`));
  expect(third).not.toBe(first);
});

// Promise: texts-of-headers
test.each(["", " ", "a b", "ключ"])("the key %j is refused before anything is read or sent", async (idempotencyKey) => {
  const { store, sent } = batchService();
  const source = function* (): Generator<NewPet> {
    yield expect.unreachable();
  };
  expect(await errorOf(store.pets.createMany(source(), { idempotencyKey }))).toEqual(
    new RangeError("Idempotency-Key has to be visible ASCII."),
  );
  expect(sent).toEqual([]);
});

// Promise: create-many-batches, create-many-memory
test("the source is read one batch at a time, at most one animal further", async () => {
  let read = 0;
  function* animals(): Generator<NewPet> {
    for (const animal of [...named(250), ...animalsOf(MAX_BYTES, "a"), ...named(10)]) {
      read++;
      yield animal;
    }
  }
  const atProgress: number[] = [];
  await batchService().store.pets.createMany(animals(), { onProgress: () => atProgress.push(read) });
  // The animal after a batch that its bytes end has been read, to know its size.
  expect(atProgress).toEqual([100, 200, 252, 262]);
});

test("a full batch does not wait for the next animal", async () => {
  const { store, stored } = batchService();
  let next = (): void => {};
  async function* animals(): AsyncGenerator<NewPet> {
    yield* named(100);
    await new Promise<void>((resolve) => (next = resolve));
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const creation = store.pets.createMany(animals(), { onProgress: () => resolve() });
  await promise;
  expect(stored).toHaveLength(100);
  await expect.poll(() => (next(), creation)).toBe(100);
});

test("in a session, each batch has the bookmark of the batch before", async () => {
  const [first = "", second = ""] = BOOKMARKS;
  const animals = (length: number, bookmark: string) =>
    json(201, `[${Array(length).fill(ANIMAL).join()}]`, { "x-d1-bookmark": bookmark });
  const { store, sent } = fakeService([animals(100, first), animals(1, second)]);
  const session = store.session();
  await session.pets.createMany(named(101));
  expect(sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([undefined, first]);
  expect(session.bookmark).toBe(second);
});

// Promise: create-many-expires, first-used, keys-of-errors
test.each([
  ["22:59 hours ago", 23 * 3_600_000 - 60_000, true],
  ["23 hours ago", 23 * 3_600_000, false],
  ["in the future", -1_000, true],
  ["at no time", Number.NaN, false],
])("with a key that was first used %s, %#", async (_when, age, isGood) => {
  const options = { idempotencyKey: "offline-1", firstUsed: new Date(Date.now() - age) };
  const changes: [reply: string, change: (store: PetStore) => Promise<unknown>][] = [
    [`[${ANIMAL}]`, (store) => store.pets.createMany(named(1), options)],
    [ANIMAL, (store) => store.pets.create({ name: "Rex", categoryId: 1 }, options)],
    [ANIMAL, (store) => store.pets.update(1, { name: "Max" }, options)],
    [ORDER, (store) => store.orders.place({ petId: 1 }, options)],
    [ORDER, (store) => store.orders.ship(1, options)],
  ];
  const expired = { code: "idempotency_key_expired", idempotencyKey: "offline-1", status: undefined };
  for (const [reply, change] of changes) {
    const { store, sent } = fakeService([json(200, reply, { ETag: '"1"' })]);
    if (isGood) await change(store);
    else expect(await errorOf(change(store))).toMatchObject(expired);
    expect(sent).toHaveLength(isGood ? 1 : 0);
  }
});

// Promise: create-many-expires
test("a call that lasts a day ends before the service forgets its first key", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { store, sent } = batchService();
  const creating = store.pets.createMany(named(300), {
    onProgress: ({ created }) => void vi.setSystemTime(Date.now() + created * 12 * 36_000),
  });
  expect(await errorOf(creating)).toMatchObject({ code: "idempotency_key_expired", created: 200 });
  expect(sent).toHaveLength(2);
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
