import { describe, expect, test, vi, onTestFinished } from "vitest";
import { type Attempt, PetStore, PetStoreError } from "../../../client/src/index.ts";
import {
  ANIMAL,
  broken,
  CATEGORY,
  errorOf,
  failure,
  fakeService,
  html,
  json,
  ORDER,
  type Reply,
  silent,
  stopTime,
} from "./fake-service.ts";

const CREATED = json(201, ANIMAL, { ETag: '"1"' });
const NEW_PET = { name: "Rex", categoryId: 1n };
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The service may have run the request. */
const LOST: [string, Reply][] = [
  ["a broken connection", broken],
  ["a 503", failure(503, "service_unavailable")],
  ["a 503 in HTML", html(503)],
  ["a 502 in HTML", html(502)],
  ["a 500 in HTML", html(500)],
  ["HTML with 200", html(200)],
  ["half a response", json(201, ANIMAL.slice(0, 30))],
  ["an empty response", json(201, "")],
  ["another JSON with 200", json(200, '{"available":12}')],
  ["half an error", json(404, '{"code":"not_fo')],
];
/** The service did not run the request. */
const REFUSED: [string, Reply][] = [
  ["a 429", failure(429, "rate_limited")],
  ["a 429 in HTML", html(429)],
  ["a 408 of the service", failure(408, "request_timeout")],
];
/** Another attempt would fail as well. */
const FINAL: [string, Reply][] = [
  ["a 400", failure(400, "invalid_request")],
  ["a 401", failure(401, "unauthorized")],
  ["a 409", failure(409, "pet_not_available")],
  ["a bug of the service", failure(500, "internal_error")],
  ["an unknown code", failure(418, "teapot")],
  ["a 403 in HTML", html(403)],
  ["a redirect", html(302, { Location: "https://elsewhere.test" })],
];

const STATE = json(200, JSON.stringify({ health: "ok", pending: 0, cursor: "1".repeat(32), resets: 0 }));
const TOKEN = {
  token: "petstore_local_t_a.b",
  id: "1",
  customer: "ada",
  scopes: [],
  expiresAt: "2031-01-01T00:00:00.000Z",
};
type Request = (store: PetStore) => Promise<unknown>;
/** Requests with a success, and whether each is repeated when the service may have run it. */
const REQUESTS: [name: string, request: Request, success: Reply, isRepeated: boolean][] = [
  ["a creation", ({ pets }) => pets.create(NEW_PET), CREATED, true],
  ...[undefined, "*", '"1"', '"1", "2"'].map((ifMatch): (typeof REQUESTS)[number] => [
    `an update if ${ifMatch}`,
    ({ pets }) => pets.update(1, { status: "sold" }, { ifMatch }),
    json(200, ANIMAL, { ETag: '"2"' }),
    true,
  ]),
  ["a deletion", ({ pets }) => pets.delete(1), json(204, ""), true],
  ["a shipment", ({ orders }) => orders.ship(1), json(200, ORDER), true],
  ["a cancellation", ({ orders }) => orders.cancel(1), json(204, ""), true],
  ["a read", ({ orders }) => orders.get(1), json(200, ORDER), true],
  ["a list", ({ pets }) => pets.list().page(), json(200, "[]"), true],
  ["a token", (store) => store.token({ customer: "ada" }), json(200, JSON.stringify(TOKEN)), true],
  // These take no Idempotency-Key.
  ["a test", ({ webhooks }) => webhooks.test(1), json(200, '{"milliseconds":1}'), false],
  ["a rotation", ({ webhooks }) => webhooks.rotateSecret(1), json(200, '{"secret":"whsec_1"}'), false],
  ["a replay", ({ webhooks }) => webhooks.replay(1, "latest"), STATE, false],
];

// Promise: keys-of-attempts, lost-responses, one-update-succeeds, refused-to-run, resource-methods, what-is-repeated
test.each(REQUESTS)("%s is sent again, with the same key and body", async (_name, request, success, isRepeated) => {
  // The first says that nothing has happened. The other comes from a proxy.
  const refused: typeof REFUSED = [["a 503", failure(503, "service_unavailable", { "Retry-After": "0" })], ...REFUSED];
  const lost: typeof LOST = [["a 503 of a proxy", html(503, { "Retry-After": "0" })], ...LOST];
  for (const [fault, reply] of [...refused, ...(isRepeated ? lost : [])]) {
    const { store, sent } = fakeService([reply, reply, success]);
    await request(store);
    const [first, ...repeated] = sent.map(({ headers, body }) => ({ headers, body }));
    expect(repeated, fault).toEqual([first, first]);
  }
  for (const [fault, reply] of isRepeated ? [] : lost) {
    const { store, sent } = fakeService([reply, success]);
    expect(await errorOf(request(store)), fault).toBeInstanceOf(PetStoreError);
    expect(sent).toHaveLength(1);
  }
});

// Promise: final-errors
test.each(FINAL)("after %s nothing is repeated", async (_fault, reply) => {
  const { store, sent } = fakeService([reply, CREATED]);
  expect(await errorOf(store.pets.create(NEW_PET))).toBeInstanceOf(PetStoreError);
  expect(sent).toHaveLength(1);
});

// Promise: keys-of-attempts
test("each creation and update has its own key, unless one is given", async () => {
  const replayed = json(201, CATEGORY, { "Idempotency-Replayed": "true" });
  const { store, sent } = fakeService([CREATED, json(201, ORDER), json(200, ANIMAL), json(200, ANIMAL), replayed]);
  expect(await store.pets.create(NEW_PET)).toMatchObject({ animal: { name: "Rex" }, etag: '"1"', replayed: false });
  await store.orders.place({ petId: 1 });
  for (let turn = 0; turn < 2; turn++) await store.pets.update(1, { status: "sold" }, { ifMatch: '"1"' });
  expect(await store.categories.create({ name: "Dogs" }, { idempotencyKey: "mine" })).toMatchObject({ replayed: true });
  const keys = sent.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toEqual([...Array<unknown>(4).fill(expect.stringMatching(UUID)), "mine"]);
  expect(new Set(keys).size).toBe(5);
  expect(sent.map(({ headers }) => headers["if-match"])).toEqual([undefined, undefined, '"1"', '"1"', undefined]);
});

// Promise: observers, what-is-repeated
test.each<[replies: Reply[], request: Request, isSuccess: boolean]>([
  [[broken], ({ pets }) => pets.delete(1), true],
  [[failure(503, "service_unavailable"), failure(429, "rate_limited")], ({ pets }) => pets.delete(1), true],
  [[html(502)], ({ categories }) => categories.delete(1), true],
  [[json(503, "{}")], ({ webhooks }) => webhooks.delete(1), true],
  [[], ({ pets }) => pets.delete(1), false],
  [[failure(429, "rate_limited")], ({ pets }) => pets.delete(1), false],
  // The order stays.
  [[broken], ({ orders }) => orders.cancel(1), false],
  [[broken, html(404)], ({ pets }) => pets.delete(1), false],
])("a 404 for a deletion is a success after a lost response alone, %#", async (replies, request, isSuccess) => {
  const attempts: Attempt[] = [];
  const onAttempt = (attempt: Attempt) => void attempts.push(attempt);
  const { store } = fakeService([...replies, failure(404, "not_found")], { onAttempt });
  const outcome = await request(store).catch((error: unknown) => error);
  if (isSuccess) expect([outcome, attempts.at(-1)]).toMatchObject([undefined, { status: 404, error: undefined }]);
  else expect(outcome).toMatchObject({ status: 404 });
});

describe("time", () => {
  stopTime();

  /** Milliseconds until a request failed, with maximum jitter. */
  async function timeToFail(replies: Reply[], retry: object, jitter = 1) {
    vi.spyOn(Math, "random").mockReturnValue(jitter);
    const { store, sent } = fakeService(replies, { retry });
    const start = performance.now();
    const error = errorOf(store.pets.create(NEW_PET));
    await vi.runAllTimersAsync();
    return { error: await error, sent: sent.length, time: Math.round(performance.now() - start) };
  }

  // Promise: pauses
  test("pauses double up to a limit, and the attempts end", async () => {
    const policy = { attempts: 6, firstPause: 100, longestPause: 500 };
    const { error, sent, time } = await timeToFail([broken], policy);
    expect(error).toMatchObject({ code: "network", status: undefined });
    expect({ sent, time }).toEqual({ sent: 6, time: 100 + 200 + 400 + 500 + 500 });
    expect(await timeToFail([broken], policy, 0)).toMatchObject({ sent: 6, time: 0 });
  });

  // Promise: pauses
  test("Retry-After is respected, in seconds and as a date", async () => {
    const policy = { attempts: 2, firstPause: 100 };
    const inSeconds = failure(429, "rate_limited", { "Retry-After": "60" });
    expect(await timeToFail([inSeconds], policy)).toMatchObject({ sent: 2, time: 60_100, error: { retryAfter: 60 } });
    const asDate: Reply = (sent) =>
      html(503, { "Retry-After": new Date(Math.ceil(Date.now() / 1000) * 1000 + 7_000).toUTCString() })(sent);
    const { time } = await timeToFail([asDate, failure(400, "invalid_request")], policy);
    expect(time).toBeGreaterThanOrEqual(7_000);
    expect(time).toBeLessThanOrEqual(8_100);
    for (const text of [
      "wait 45",
      "soon 2040",
      "Tue, 31 Feb 2040 08:31:00 GMT",
      "2040-01-01T00:00:00Z",
      "-1",
      "1.5",
      "1e3",
    ])
      expect(await timeToFail([html(503, { "Retry-After": text })], policy), text).toMatchObject({
        time: 100,
        error: { retryAfter: undefined },
      });
  });

  // Promise: long-waits, retry-after
  test("a longer Retry-After than longestRetryAfter is not waited for, by default more than 10 seconds in a page", async () => {
    const after = (seconds: number) => failure(503, "service_unavailable", { "Retry-After": String(seconds) });
    const policy = { attempts: 2, longestRetryAfter: 30_000 };
    expect(await timeToFail([after(31)], policy, 0)).toMatchObject({ sent: 1, time: 0, error: { retryAfter: 31 } });
    expect(await timeToFail([after(30)], policy, 0)).toMatchObject({ sent: 2, time: 30_000 });
    vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0" });
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(await timeToFail([after(11)], { attempts: 2 }, 0)).toMatchObject({ sent: 1, time: 0 });
    expect(await timeToFail([after(10)], { attempts: 2 }, 0)).toMatchObject({ sent: 2, time: 10_000 });
  });

  test("a request fails at once when the pause would exceed the total time", async () => {
    const limited = failure(429, "rate_limited", { "Retry-After": "60" });
    expect(await timeToFail([limited], { totalTime: 59_000 })).toMatchObject({ sent: 1, time: 0 });
  });

  // Promise: limits-of-a-request
  test("an attempt ends within its timeout, and all attempts within the total time", async () => {
    const { store, sent } = fakeService([silent], { timeout: 1_000, retry: { firstPause: 1, totalTime: 2_500 } });
    const start = performance.now();
    const error = errorOf(store.pets.create(NEW_PET, { idempotencyKey: "mine" }));
    await vi.runAllTimersAsync();
    expect(await error).toMatchObject({ code: "timeout", status: undefined, idempotencyKey: "mine" });
    expect(sent).toHaveLength(3);
    expect(performance.now() - start).toBeLessThanOrEqual(2_501);
  });

  test("nothing is sent after the total time, also when a pause took longer because the machine slept", async () => {
    for (const [reply, code] of [
      [broken, "network"],
      [failure(429, "rate_limited"), "rate_limited"],
    ] as const) {
      const { store, sent } = fakeService([reply], { retry: { firstPause: 1_000, totalTime: 60_000 } });
      const error = errorOf(store.pets.create(NEW_PET));
      await vi.advanceTimersByTimeAsync(0);
      const slept = performance.now() + 3_600_000;
      const clock = vi.spyOn(performance, "now").mockReturnValue(slept);
      await vi.runAllTimersAsync();
      expect(await error).toMatchObject({ code });
      expect(sent).toHaveLength(1);
      clock.mockRestore();
    }
  });

  test("an infinite timeout never fires", async () => {
    const late: Reply = async (sent) => {
      await new Promise((resolve) => {
        setTimeout(resolve, 3_600_000);
      });
      return CREATED(sent);
    };
    const { store } = fakeService([late], { timeout: Infinity, retry: { totalTime: Infinity } });
    const created = store.pets.create(NEW_PET);
    await vi.runAllTimersAsync();
    expect(await created).toMatchObject({ replayed: false });
  });

  // Promise: signals
  test("the caller's signal ends an attempt and a pause, with its reason", async () => {
    for (const reply of [silent, failure(429, "rate_limited", { "Retry-After": "60" })]) {
      const controller = new AbortController();
      const { store, sent } = fakeService([reply]);
      const error = errorOf(store.pets.create(NEW_PET, { signal: controller.signal }));
      await vi.advanceTimersByTimeAsync(10);
      controller.abort("enough");
      expect(await error).toBe("enough");
      expect(sent).toHaveLength(1);
      expect(vi.getTimerCount()).toBe(0);
    }
  });
});

// Promise: errors-of-fetch, errors-of-functions
test.each([
  new Error("no token"),
  new RangeError("too long"),
  new DOMException("late", "TimeoutError"),
  "text",
  undefined,
])("the caller's own error %s ends a request as it is", async (thrown) => {
  const throwing = () => Promise.reject(thrown);
  const { store, sent } = fakeService([throwing]);
  expect(await errorOf(store.pets.create(NEW_PET))).toBe(thrown);
  expect(sent).toHaveLength(1);
  const withoutKey = fakeService([CREATED], { apiKey: throwing });
  expect(await errorOf(withoutKey.store.pets.create(NEW_PET))).toBe(thrown);
  expect(withoutKey.sent).toEqual([]);
});

// Promise: errors-of-fetch
test("a fetch of the caller that returns no response is a TypeError at once", async () => {
  const { store, sent } = fakeService([() => undefined as never]);
  expect(await errorOf(store.pets.create(NEW_PET))).toBeInstanceOf(TypeError);
  expect(sent).toHaveLength(1);
});

// Promise: options
describe("an option that cannot be used is a TypeError", () => {
  const create = (options: object) => new PetStore({ baseUrl: "https://petstore.test/v1", apiKey: "key", ...options });

  test.each([
    [{ baseUrl: undefined }, "baseUrl"],
    [{ baseUrl: "" }, "baseUrl"],
    [{ baseUrl: "petstore.test/v1" }, "baseUrl"],
    [{ baseUrl: "/v1" }, "baseUrl"],
    [{ baseUrl: "ftp://petstore.test/v1" }, "baseUrl"],
    [{ baseUrl: "https://me:secret@petstore.test/v1" }, "baseUrl"],
    [{ baseUrl: "https://petstore.test/v1?a=b" }, "baseUrl"],
    [{ baseUrl: "https://petstore.test/v1#a" }, "baseUrl"],
    [{ apiKey: undefined }, "apiKey"],
    [{ apiKey: 5 }, "apiKey"],
    [{ timeout: Number.NaN }, "timeout"],
    [{ timeout: -1 }, "timeout"],
    [{ timeout: "5" }, "timeout"],
    [{ retry: { attempts: Number.NaN } }, "attempts"],
    [{ retry: { totalTime: null } }, "totalTime"],
  ])("at once: %j", (options, name) => {
    expect(() => create(options)).toThrow(TypeError);
    expect(() => create(options)).toThrow(name);
    expect(() => create(options)).not.toThrow("secret");
  });

  test("of a request, before anything is sent", async () => {
    const { store, sent } = fakeService([CREATED]);
    for (const options of [{ timeout: Number.NaN }, { retry: { firstPause: -1 } }]) {
      expect(await errorOf(store.pets.create(NEW_PET, options))).toBeInstanceOf(TypeError);
    }
    expect(sent).toEqual([]);
  });

  test("and an undefined one is the default", async () => {
    const retry = { attempts: 2, firstPause: 1, longestPause: undefined, totalTime: undefined };
    const { store, sent } = fakeService([broken], { timeout: undefined, retry, onAttempt: undefined });
    expect(await errorOf(store.pets.create(NEW_PET))).toMatchObject({ code: "network" });
    expect(sent).toHaveLength(2);
  });
});

// Promise: limits-of-a-request
test("a request may have limits of its own", async () => {
  const { store, sent } = fakeService([broken], { retry: { attempts: 2, firstPause: 1 } });
  for (const request of [
    () => store.pets.create(NEW_PET, { retry: { attempts: 3 } }),
    () => store.pets.update(1, {}, { retry: { attempts: 3 } }),
    () => store.pets.delete(1, { retry: { attempts: 3 } }),
    () => store.orders.get(1, { retry: { attempts: 3 } }),
    () => store.pets.list({}, { retry: { attempts: 3 } }).page(),
    () => store.pets.list().page({ retry: { attempts: 3 } }),
  ]) {
    sent.length = 0;
    await errorOf(request());
    expect(sent, String(request)).toHaveLength(3);
  }
  sent.length = 0;
  await errorOf(store.pets.create(NEW_PET, { retry: undefined, timeout: undefined }));
  expect(sent).toHaveLength(2);

  const late = fakeService([silent], { timeout: 60_000 });
  const error = errorOf(late.store.orders.get(1, { timeout: 5, retry: { attempts: 1 } }));
  expect(await error).toMatchObject({ code: "timeout", message: "The response was not complete within 5 ms." });
});

test("a fetch that ignores its signal is not waited for", async () => {
  const { store } = fakeService([() => new Promise(() => {})], { timeout: 5, retry: { attempts: 1 } });
  expect(await errorOf(store.orders.get(1))).toMatchObject({ code: "timeout" });
});

// Promise: key-functions
test("a key provider is asked before each attempt, and has the time of the attempt", async () => {
  const keys = ["first", "second", "\n third\n"];
  const { store, sent } = fakeService([broken, failure(503, "service_unavailable"), json(200, ORDER)], {
    apiKey: async () => keys.shift() ?? "",
  });
  await store.orders.get(1);
  expect(sent.map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer first",
    "Bearer second",
    "Bearer third",
  ]);
  // No key is left.
  expect(await errorOf(store.pets.create(NEW_PET))).toBeInstanceOf(TypeError);
  expect(sent).toHaveLength(3);

  const slow = fakeService([CREATED], { apiKey: () => new Promise(() => {}), timeout: 5, retry: { attempts: 1 } });
  expect(await errorOf(slow.store.pets.create(NEW_PET))).toMatchObject({ code: "timeout" });
});

// Promise: ids-of-requests, observers
test("an observer is told every attempt, with its outcome", async () => {
  const attempts: Attempt[] = [];
  const { store } = fakeService(
    [
      broken,
      failure(429, "rate_limited"),
      json(201, ANIMAL, { "X-Request-Id": "request-2" }),
      failure(409, "pet_not_available"),
    ],
    { onAttempt: (attempt) => attempts.push(attempt) },
  );
  await store.pets.create(NEW_PET);
  const error = await errorOf(store.orders.place({ petId: 1 }));
  const number = expect.any(Number);
  const create = { operation: "createPet", url: "https://petstore.test/v1/pets", duration: number };
  const place = { operation: "placeOrder", url: "https://petstore.test/v1/store/orders", duration: number };
  const lost = { status: undefined, requestId: undefined, error: expect.objectContaining({ code: "network" }) };
  const refused = { status: 429, requestId: "request-1", error: expect.objectContaining({ code: "rate_limited" }) };
  const created = { status: 201, requestId: "request-2", error: undefined };
  expect(attempts).toEqual([
    { ...create, attempt: 1, ...lost, retryIn: number },
    { ...create, attempt: 2, ...refused, retryIn: number },
    { ...create, attempt: 3, ...created, retryIn: undefined },
    { ...place, attempt: 1, status: 409, requestId: "request-1", error, retryIn: undefined },
  ]);
  expect(attempts[3]?.error).toBe(error);
});

// Promise: signals
test("nothing is sent with an aborted signal", async () => {
  const { store, sent } = fakeService([CREATED]);
  const signal = AbortSignal.abort("before");
  expect(await errorOf(store.pets.create(NEW_PET, { signal }))).toBe("before");
  expect(sent).toEqual([]);
});

test("a long-lived signal keeps no listener of a request", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  const { store } = fakeService([broken, CREATED]);
  await store.pets.create(NEW_PET, { signal });
  // Two attempts and a pause.
  expect(added).toHaveBeenCalledTimes(3);
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(added.mock.calls.map(([, listener]) => listener));
});

const UNAUTHORIZED = failure(401, "unauthorized");
const authorizations = (sent: { headers: Record<string, string> }[]) =>
  sent.map(({ headers }) => headers["authorization"]?.replace("Bearer ", ""));

// Promise: tokens-are-renewed
test("after a 401, the function is asked once more with the refused token, and the request is sent once more", async () => {
  const asked: (string | undefined)[] = [];
  const tokens = ["old", "new"];
  const apiKey = (refused?: string) => {
    asked.push(refused);
    return tokens[asked.length - 1] ?? "?";
  };
  const { store, sent } = fakeService([UNAUTHORIZED, CREATED], { apiKey, retry: { attempts: 1 } });
  const begin = performance.now();
  expect(await store.pets.create(NEW_PET)).toMatchObject({ replayed: false });
  expect(performance.now() - begin).toBeLessThan(1_000);
  expect(asked).toEqual([undefined, "old"]);
  expect(authorizations(sent)).toEqual(["old", "new"]);
  expect(sent[1]?.headers["idempotency-key"]).toBe(sent[0]?.headers["idempotency-key"]);
  expect(sent[1]?.body).toBe(sent[0]?.body);
});

// Promise: tokens-are-renewed
test("a second 401 ends the request, and a key that is no function is not asked for again", async () => {
  let count = 0;
  const attempts: Attempt[] = [];
  const onAttempt = (attempt: Attempt) => void attempts.push(attempt);
  const { store, sent } = fakeService([UNAUTHORIZED], { apiKey: () => `token ${++count}`, onAttempt });
  expect(await errorOf(store.pets.create(NEW_PET))).toMatchObject({ code: "unauthorized", status: 401 });
  expect(authorizations(sent)).toEqual(["token 1", "token 2"]);
  expect(attempts.map(({ retryIn }) => retryIn)).toEqual([0, undefined]);

  const fixed = fakeService([UNAUTHORIZED]);
  await errorOf(fixed.store.pets.create(NEW_PET));
  expect(fixed.sent).toHaveLength(1);
});

// Promise: tokens-are-renewed
test("a renewal takes none of the attempts, and a lost response stays lost", async () => {
  const [old, renewed] = ["petstore_local_t_old", "petstore_local_t_new"];
  const apiKey = (refused?: string) => (refused === undefined ? old : renewed);
  const { store, sent } = fakeService([broken, UNAUTHORIZED, broken, CREATED], {
    apiKey,
    retry: { firstPause: 1, attempts: 3 },
  });
  await store.pets.create(NEW_PET);
  expect(authorizations(sent)).toEqual([old, old, renewed, renewed]);

  const missing = failure(404, "not_found");
  const deletion = fakeService([broken, UNAUTHORIZED, missing], { apiKey });
  await deletion.store.pets.delete(1n);
  const refused = fakeService([UNAUTHORIZED, missing], { apiKey });
  expect(await errorOf(refused.store.pets.delete(1n))).toMatchObject({ code: "not_found" });
});

// Promise: tokens-are-renewed
test("after a lost response, a change is not sent with another API key, under which its Idempotency-Key is another", async () => {
  const apiKey = (refused?: string) => (refused === undefined ? "old" : "new");
  const { store, sent } = fakeService([broken, UNAUTHORIZED, CREATED], { apiKey, retry: { firstPause: 1 } });
  expect(await errorOf(store.pets.create(NEW_PET))).toMatchObject({
    code: "unauthorized",
    idempotencyKey: sent[0]?.headers["idempotency-key"],
  });
  expect(authorizations(sent)).toEqual(["old", "old"]);

  const list = fakeService([broken, UNAUTHORIZED, json(200, "[]")], { apiKey, retry: { firstPause: 1 } });
  await list.store.pets.list().page();
  expect(authorizations(list.sent)).toEqual(["old", "old", "new"]);
});

// Promise: key-functions
test("after a lost response, a change is repeated with the API key of that attempt, also when the function has another one", async () => {
  let count = 0;
  const apiKey = () => `key ${++count}`;
  const limited = failure(429, "rate_limited");
  const { store, sent } = fakeService([limited, broken, limited, html(502), CREATED], { apiKey });
  await store.pets.create(NEW_PET);
  expect(authorizations(sent)).toEqual(["key 1", "key 2", "key 2", "key 2", "key 2"]);
  // The next request has a new one, and what needs no `Idempotency-Key` always.
  const deletion = fakeService([broken, json(204, "")], { apiKey });
  await deletion.store.pets.delete(1);
  expect(authorizations(deletion.sent)).toEqual(["key 3", "key 4"]);

  // An attempt that had no key in time has sent nothing under the one before.
  const late = ["refused", new Promise<string>(() => {}), "renewed"];
  const options = { apiKey: () => late.shift() ?? "", timeout: 50, retry: { firstPause: 1 } };
  const slow = fakeService([UNAUTHORIZED, CREATED], options);
  await slow.store.pets.create(NEW_PET);
  expect(authorizations(slow.sent)).toEqual(["refused", "renewed"]);
});

test("a 401 of somebody else in between is no refusal of the token, and an error of the function is the caller's", async () => {
  const asked: unknown[] = [];
  const { store, sent } = fakeService([html(401)], { apiKey: (refused) => String(asked.push(refused)) });
  expect(await errorOf(store.pets.create(NEW_PET))).toMatchObject({ code: "unexpected_response" });
  expect([sent.length, asked]).toEqual([1, [undefined]]);

  const apiKey = (refused?: string) => {
    if (refused !== undefined) throw new RangeError("Log in again");
    return "old";
  };
  const failing = fakeService([UNAUTHORIZED], { apiKey });
  expect(await errorOf(failing.store.pets.create(NEW_PET))).toEqual(new RangeError("Log in again"));
});

// Promise: tokens-are-renewed
test("requests at once share a token that a function renews once", async () => {
  let [token, minted] = ["t0", 0];
  const apiKey = async (refused?: string) => {
    if (refused === token) token = `t${++minted}`;
    return token;
  };
  const { store, sent } = fakeService(
    [({ headers }) => (headers["authorization"] === "Bearer t0" ? UNAUTHORIZED : json(200, "[]"))({} as never)],
    { apiKey },
  );
  await Promise.all(Array.from({ length: 5 }, () => store.orders.list().page()));
  expect(minted).toBe(1);
  expect(sent).toHaveLength(10);
});
