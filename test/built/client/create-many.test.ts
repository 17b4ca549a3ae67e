import { expect, onTestFinished, test, vi } from "vitest";
import type { NewPet, PetStore } from "../../../client/src/index.ts";
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

const named = (length: number) =>
  Array.from({ length }, (_, index): NewPet => ({ name: `Animal ${index}`, categoryId: 2n ** 62n + BigInt(index) }));

const NEW_PET: NewPet = { name: "Rex", categoryId: 1 };

const bytesOf = ({ body = "" }: Sent) => new TextEncoder().encode(body).byteLength;
const namesOf = ({ body = "" }: Sent) => (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers["idempotency-key"]);

/** A service that creates each batch once for each key. The ids ascend. */
function batchService(...faults: (Reply | undefined)[]) {
  const created: string[] = [];
  const responses = new Map<string, string>();
  const reply: Reply = async (sent) => {
    const fault = faults.shift();
    const key = sent.headers["idempotency-key"] ?? "";
    const done = responses.get(key);
    // A fault with a status comes before the write, and a broken connection after it.
    if (fault !== undefined && fault !== broken) return fault(sent);
    const animals = namesOf(sent).map(
      (name, index) =>
        `{"id":${created.length + index + 1},"name":${JSON.stringify(name)},"categoryId":1,"status":"available"}`,
    );
    const response = done ?? `[${animals.join()}]`;
    responses.set(key, response);
    if (done === undefined) created.push(...namesOf(sent));
    return fault === broken ? broken(sent) : json(201, response)(sent);
  };
  return { ...fakeService([reply]), created };
}

async function* slowly<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  for (const item of items) yield item;
}

// Promise: create-many-batches, what-methods-return
test.each([
  [0, []],
  [1, [1]],
  [99, [99]],
  [100, [100]],
  [101, [100, 1]],
  [250, [100, 100, 50]],
])("%d animals are created in order, in batches of %j", async (count, sizes) => {
  for (const source of [named(count), new Set(named(count)), slowly(named(count))]) {
    const { store, sent, created } = batchService();
    expect(await store.pets.createMany(source, { idempotencyKey: "run" })).toBe(count);
    expect(created).toEqual(named(count).map(({ name }) => name));
    expect(sent.map((request) => namesOf(request).length)).toEqual(sizes);
    expect(keysOf(sent)).toEqual(sizes.map((_, index) => `run-${index * 100}`));
    for (const { method, path, headers } of sent) {
      expect([method, path, headers["content-type"]]).toEqual(["POST", "/pets/batch", "application/json"]);
    }
  }
});

test("a batch has the exact integers and omits what is undefined", async () => {
  const { store, sent } = batchService();
  await store.pets.createMany([
    { name: "Rex", categoryId: 2n ** 63n - 1n, status: undefined },
    { name: "Max", categoryId: "-9223372036854775808", status: "sold" },
  ]);
  expect(sent[0]?.body).toBe(
    '[{"name":"Rex","categoryId":9223372036854775807},{"name":"Max","categoryId":-9223372036854775808,"status":"sold"}]',
  );
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

test.each(["a", "é", "ま", "🐕", "\u0001", '"'])(
  "a batch of %j has up to 64 KiB, with its brackets and commas",
  async (letter) => {
    const whole = batchService();
    await whole.store.pets.createMany(animalsOf(MAX_BYTES, letter));
    expect(whole.sent.map(bytesOf)).toEqual([MAX_BYTES]);
    const cut = batchService();
    await cut.store.pets.createMany(animalsOf(MAX_BYTES + 1, letter));
    expect(cut.sent).toHaveLength(2);
    expect(cut.created).toEqual(animalsOf(MAX_BYTES + 1, letter).map(({ name }) => name));
  },
);

test.each([
  ["its bytes", animalsOf(MAX_BYTES, "a")],
  ["its number", named(100)],
])("the batch after one that %s end has up to 64 KiB, too", async (_bound, before) => {
  const whole = batchService();
  await whole.store.pets.createMany([...before, ...animalsOf(MAX_BYTES, "b")]);
  expect(whole.sent.slice(1).map(bytesOf)).toEqual([MAX_BYTES]);
  const cut = batchService();
  await cut.store.pets.createMany([...before, ...animalsOf(MAX_BYTES + 1, "b")]);
  expect(cut.sent.map((request) => namesOf(request).length)).toEqual([before.length, 1, 1]);
});

test("the service decides about an animal that is too large for any batch", async () => {
  const { store, sent } = batchService(undefined, failure(413, "payload_too_large"));
  const large = { name: "a".repeat(MAX_BYTES), categoryId: 1 };
  expect(await errorOf(store.pets.createMany([...named(1), large, ...named(1)]))).toMatchObject({
    code: "payload_too_large",
  });
  expect(sent.map((request) => namesOf(request).length)).toEqual([1, 1]);
});

// Promise: what-is-repeated
test("a batch whose response is lost is repeated with the same key", async () => {
  const { store, sent, created } = batchService(undefined, broken, failure(503, "service_unavailable"));
  expect(await store.pets.createMany(named(250), { idempotencyKey: "run" })).toBe(250);
  expect(keysOf(sent)).toEqual(["run-0", "run-100", "run-100", "run-100", "run-200"]);
  expect(created).toEqual(named(250).map(({ name }) => name));
});

// Promise: create-many-goes-on, create-many-keys
test("another call with the same animals and the same key goes on where the first one ended", async () => {
  const { store, sent, created } = batchService(undefined, undefined, broken, failure(401, "unauthorized"));
  const animals = [...named(150), ...animalsOf(MAX_BYTES, "a"), ...named(120)];
  const reached: number[] = [];
  const create = (source: Iterable<NewPet> | AsyncIterable<NewPet>) =>
    store.pets.createMany(source, { idempotencyKey: "run", onProgress: ({ created }) => reached.push(created) });
  expect(await errorOf(create(animals))).toMatchObject({ code: "unauthorized", idempotencyKey: "run" });
  expect(reached).toEqual([100, 151]);
  expect(await create(slowly(animals))).toBe(animals.length);
  expect(created).toEqual(animals.map(({ name }) => name));
  expect(reached).toEqual([100, 151, 100, 151, 251, 272]);
  expect(keysOf(sent)).toEqual(["run-0", "run-100", "run-151", "run-151", "run-0", "run-100", "run-151", "run-251"]);
});

// Promise: batches-wait-for-the-limit
test("a batch that meets the limit of its key waits for the next minute, and in a page ends the call", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const limited = failure(429, "rate_limited", { "Retry-After": "60" });
  const { store, sent, created } = batchService(undefined, limited, undefined, limited, limited);
  const start = performance.now();
  const creation = store.pets.createMany(named(250), { idempotencyKey: "run" });
  await vi.runAllTimersAsync();
  expect(await creation).toBe(250);
  expect(performance.now() - start).toBeGreaterThanOrEqual(180_000);
  expect(keysOf(sent)).toEqual(["run-0", "run-100", "run-100", "run-200", "run-200", "run-200"]);
  expect(created).toEqual(named(250).map(({ name }) => name));
  vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0" });
  onTestFinished(() => void vi.unstubAllGlobals());
  const page = batchService(undefined, limited);
  const refused = errorOf(page.store.pets.createMany(named(250), { idempotencyKey: "run" }));
  await vi.runAllTimersAsync();
  expect(await refused).toMatchObject({ code: "rate_limited", retryAfter: 60, created: 100, idempotencyKey: "run" });
  expect(await page.store.pets.createMany(named(250), { idempotencyKey: "run" })).toBe(250);
  expect(page.created).toHaveLength(250);
});

test("two calls without a key have different keys", async () => {
  const { store, sent, created } = batchService();
  await store.pets.createMany(named(101));
  await store.pets.createMany(named(1));
  const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
  const [first = "", second = "", third = ""] = keysOf(sent);
  expect(first).toMatch(new RegExp(`^${uuid}-0$`));
  expect(second).toBe(first.replace(/0$/, "100"));
  expect(third).toMatch(new RegExp(`^${uuid}-0$`));
  expect(third).not.toBe(first);
  expect(created).toHaveLength(102);
});

// Promise: texts-of-headers
test.each(["", " ", "a b", "ключ"])("the key %j is refused before anything is read or sent", async (idempotencyKey) => {
  const { store, sent } = batchService();
  let read = 0;
  function* animals(): Generator<NewPet> {
    for (const animal of named(5)) {
      read++;
      yield animal;
    }
  }
  expect(await errorOf(store.pets.createMany(animals(), { idempotencyKey }))).toEqual(
    new RangeError("Idempotency-Key has to be visible ASCII."),
  );
  expect([read, sent.length]).toEqual([0, 0]);
});

// Promise: create-many-errors, progress-of-errors
test("an error in a batch ends the call, and closes the source", async () => {
  let closed = false;
  async function* animals(): AsyncGenerator<NewPet> {
    try {
      yield* named(1_000);
    } finally {
      closed = true;
    }
  }
  const { store, sent, created } = batchService(undefined, failure(400, "invalid_request"));
  const reached: number[] = [];
  const creation = store.pets.createMany(animals(), { onProgress: ({ created }) => reached.push(created) });
  expect(await errorOf(creation)).toMatchObject({ code: "invalid_request", status: 400, created: 100 });
  expect([sent.length, created.length, reached, closed]).toEqual([2, 100, [100], true]);
});

test("an animal that cannot be sent exactly ends the call before its batch", async () => {
  const { store, created } = batchService();
  const animals = [...named(150), { name: "Rounded", categoryId: 2 ** 53 }, ...named(100)];
  expect(await errorOf(store.pets.createMany(animals))).toBeInstanceOf(RangeError);
  expect(created).toHaveLength(100);
});

test("an error of the source reaches the caller, and only whole batches exist", async () => {
  const failed = new Error("The disk is gone.");
  for (const [count, whole] of [
    [250, 200],
    [100, 100],
    [0, 0],
  ] as const) {
    const { store, created } = batchService();
    const animals = function* (): Generator<NewPet> {
      yield* named(count);
      throw failed;
    };
    expect(await errorOf(store.pets.createMany(animals()))).toBe(failed);
    expect(created).toHaveLength(whole);
  }
});

// Promise: errors-of-functions
test("an error of the caller's own function ends the call, and reaches the caller", async () => {
  const { store, sent } = batchService();
  const failed = new Error("No more.");
  const onProgress = () => {
    throw failed;
  };
  expect(await errorOf(store.pets.createMany(named(300), { onProgress }))).toBe(failed);
  expect(sent).toHaveLength(1);
});

test("a response with fewer animals than the batch is none of the service", async () => {
  const { store } = fakeService([json(201, "[]")], { retry: { attempts: 1 } });
  expect(await errorOf(store.pets.createMany(named(1)))).toMatchObject({ code: "unexpected_response" });
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
  const atRequest: number[] = [];
  const reply: Reply = (sent) => {
    atRequest.push(read);
    const body = namesOf(sent).map((name, id) => ({ id, name, categoryId: 1, status: "available" }));
    return json(201, JSON.stringify(body))(sent);
  };
  const { store } = fakeService([reply]);
  await store.pets.createMany(animals());
  // The animal after a batch that its bytes end has been read, to know its size.
  expect(atRequest).toEqual([100, 200, 252, 262]);
});

test("a full batch does not wait for the next animal", async () => {
  const { store, created } = batchService();
  let next = (): void => {};
  async function* animals(): AsyncGenerator<NewPet> {
    yield* named(100);
    await new Promise<void>((resolve) => (next = resolve));
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const creation = store.pets.createMany(animals(), { onProgress: () => resolve() });
  await promise;
  expect(created).toHaveLength(100);
  await expect.poll(() => (next(), creation)).toBe(100);
});

test("a signal ends the call between two batches", async () => {
  const controller = new AbortController();
  const { store, created } = batchService();
  const onProgress = () => controller.abort("enough");
  const creation = store.pets.createMany(named(300), { signal: controller.signal, onProgress });
  expect(await errorOf(creation)).toBe("enough");
  expect(created).toHaveLength(100);
});

test("in a session, each batch has the bookmark of the batch before", async () => {
  const [first = "", second = ""] = BOOKMARKS;
  const reply =
    (bookmark: string): Reply =>
    (sent) => {
      const body = namesOf(sent).map((name, id) => ({ id, name, categoryId: 1, status: "available" }));
      return json(201, JSON.stringify(body), { "x-d1-bookmark": bookmark })(sent);
    };
  const { store, sent } = fakeService([reply(first), reply(second)]);
  const session = store.session();
  await session.pets.createMany(named(101));
  expect(sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([undefined, first]);
  expect(session.bookmark).toBe(second);
});

// Promise: create-many-expires
test.each([
  ["22:59 hours ago", 23 * 3_600_000 - 60_000, 3],
  ["23 hours ago", 23 * 3_600_000, 0],
  ["in the future", -1_000, 3],
  ["at no time", Number.NaN, 0],
])("with a key that was first used %s, %#", async (_when, age, requests) => {
  const { store, sent } = batchService();
  const creating = store.pets.createMany(named(250), {
    idempotencyKey: "run",
    firstUsed: new Date(Date.now() - age),
  });
  if (requests > 0) expect(await creating).toBe(250);
  else {
    expect(await errorOf(creating)).toMatchObject({
      code: "idempotency_key_expired",
      idempotencyKey: "run",
      created: 0,
      status: undefined,
    });
  }
  expect(sent).toHaveLength(requests);
});

// Promise: first-used, keys-of-errors
test.each([
  ["22:59 hours ago", 23 * 3_600_000 - 60_000, 1],
  ["23 hours ago", 23 * 3_600_000, 0],
])("a single change whose key was first used %s", async (_when, age, requests) => {
  const options = { idempotencyKey: "offline-1", firstUsed: new Date(Date.now() - age) };
  const changes: [reply: string, change: (store: PetStore) => Promise<unknown>][] = [
    [ANIMAL, (store) => store.pets.create(NEW_PET, options)],
    [ANIMAL, (store) => store.pets.update(1, { name: "Max" }, options)],
    [ORDER, (store) => store.orders.place({ petId: 1 }, options)],
    [ORDER, (store) => store.orders.ship(1, options)],
  ];
  for (const [reply, change] of changes) {
    const { store, sent } = fakeService([json(200, reply, { ETag: '"1"' })]);
    const outcome = await change(store).catch((error: unknown) => error);
    expect(sent).toHaveLength(requests);
    if (requests === 1) expect(outcome).toMatchObject({ replayed: false });
    else expect(outcome).toMatchObject({ code: "idempotency_key_expired", idempotencyKey: "offline-1" });
  }
});

// Promise: create-many-expires
test("a call that lasts a day ends before the service forgets its first key", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const { store, sent } = batchService();
    const creating = store.pets.createMany(named(300), {
      onProgress: ({ created }) => void vi.setSystemTime(Date.now() + created * 12 * 36_000),
    });
    expect(await errorOf(creating)).toMatchObject({ code: "idempotency_key_expired", created: 200 });
    expect(sent).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});
