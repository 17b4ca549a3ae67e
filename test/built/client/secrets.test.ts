import { inspect } from "node:util";
import getPort from "get-port";
import { describe, expect, test, vi } from "vitest";
import { type Deprecation, PetStore, PetStoreError } from "../../../client/src/index.ts";
import { ANIMAL, errorOf, failure, fakeService, json, serveApi } from "./fake-service.ts";

// No printed form of an error or an object of the client contains the API key.

const KEY = "petstore_live_SECRET";

/** Everything that console.error, a JSON log and another thread show of a value. */
function printed(value: unknown): string {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  console.error(value);
  const [shown] = error.mock.calls;
  error.mockRestore();
  const options = { depth: null, showHidden: true, getters: true, maxStringLength: null } as const;
  const clone = value instanceof Error ? structuredClone(value) : JSON.parse(JSON.stringify(value));
  return [
    inspect(shown, options),
    inspect(value, options),
    JSON.stringify(value),
    inspect(clone, options),
    String(value),
    value instanceof Error ? value.stack : "",
  ].join("\n");
}

const withCode = (error: Error, code: unknown) => Object.assign(error, { code });

/** Errors that a runtime or a `fetch` of the caller may throw. */
const THROWN: [name: string, thrown: unknown][] = [
  ["the header in its message", new TypeError(`Headers.append: "Bearer ${KEY}" is an invalid header value.`)],
  ["the header in its cause", new TypeError("fetch failed", { cause: new Error(`Bearer ${KEY}`) })],
  ["a chain of causes", new Error("a", { cause: new Error("b", { cause: new Error("c", { cause: KEY }) }) })],
  ["several errors", new AggregateError([new Error("a"), withCode(new Error(KEY), "ECONNREFUSED")], KEY)],
  ["the request", Object.assign(new Error("failed"), { request: { headers: { Authorization: `Bearer ${KEY}` } } })],
  ["the key as its code", withCode(new Error("a", { cause: withCode(new Error("b"), KEY) }), KEY)],
  ["the key as its name", Object.assign(new Error("a"), { name: KEY })],
  ["an error of the client", new PetStoreError(KEY, KEY, { requestId: KEY })],
  [
    "a code that throws",
    {
      get code() {
        throw new Error(KEY);
      },
    },
  ],
  ["a code that changes", withCode(new Error("a"), { toString: () => KEY })],
  ["a string", KEY],
  ["nothing", undefined],
];

// Promise: no-error-shows-the-key
describe("an error", () => {
  test.each(THROWN)("after the fetch of the runtime threw %s", async (_name, thrown) => {
    const fetch = vi.spyOn(globalThis, "fetch").mockRejectedValue(thrown);
    const { store } = fakeService([], { apiKey: KEY, fetch: undefined });
    const error = await errorOf(store.pets.create({ name: "Rex", categoryId: 1 }));
    expect(fetch).toHaveBeenCalledTimes(6);
    fetch.mockRestore();
    expect(error).toMatchObject({ code: "network", message: "The connection to the service failed." });
    expect(printed(error)).not.toContain("SECRET");
  });

  test.each([
    ["a TypeError", new TypeError(KEY)],
    ["an error with a code", withCode(new Error(KEY), "ECONNRESET")],
    ["a cause with a code", new Error(KEY, { cause: withCode(new Error(KEY), "ECONNRESET") })],
    ["a remote error", Object.assign(new Error(KEY), { remote: true })],
  ])("after the caller's fetch threw %s, which is a failure of the network", async (_name, thrown) => {
    const { store, sent } = fakeService([() => Promise.reject(thrown)], { apiKey: KEY });
    const error = await errorOf(store.pets.create({ name: "Rex", categoryId: 1 }));
    expect(error).toMatchObject({ code: "network" });
    expect(printed(error)).not.toContain("SECRET");
    expect(sent).toHaveLength(6);
  });

  test("after a body that breaks", async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new Error(KEY)),
    });
    const error = await errorOf(
      fakeService([() => new Response(body)], { apiKey: KEY })
        .store.pets.list()
        .page(),
    );
    expect(error).toMatchObject({ code: "network" });
    expect(printed(error)).not.toContain("SECRET");
  });

  test("does not copy a code of the runtime that is a part of the key", async () => {
    const { store } = fakeService([() => Promise.reject(withCode(new Error("a"), "SECRET"))], { apiKey: KEY });
    expect(printed(await errorOf(store.pets.list().page()))).not.toContain("SECRET");
  });

  test("with a message that the server copied from the request", async () => {
    const repeating = json(400, JSON.stringify({ code: KEY, message: `Bearer ${KEY} is not ${KEY}.`, status: 400 }));
    const replies = [
      repeating,
      failure(401, "unauthorized", { "X-Request-Id": KEY }),
      json(200, JSON.stringify({ Authorization: `Bearer ${KEY}` })),
      json(502, KEY),
    ];
    for (const reply of replies) {
      // Like a key from a file that ends with a line break.
      const { store } = fakeService([reply], { apiKey: `${KEY}\n` });
      const error = await errorOf(store.pets.create({ name: "Rex", categoryId: 1 }));
      expect(error).toBeInstanceOf(PetStoreError);
      expect(printed(error)).not.toContain("SECRET");
    }
    const { store } = fakeService([repeating], { apiKey: KEY });
    expect(await errorOf(store.pets.list().page())).toMatchObject({
      code: "[API key]",
      message: "Bearer [API key] is not [API key].",
    });
  });

  test("has at most the longest message that the service sends", async () => {
    const { store } = fakeService([json(400, JSON.stringify({ code: "c".repeat(5_000), message: "m", status: 400 }))]);
    expect(await errorOf(store.pets.list().page())).toMatchObject({ code: "c".repeat(2_000) });
  });
});

test("the client itself", async () => {
  const { store } = fakeService([json(200, "[]")], { apiKey: KEY });
  const session = store.session();
  const list = session.pets.list({ status: "sold" });
  for (const value of [store, session, list, await list.page()]) expect(printed(value)).not.toContain("SECRET");
});

describe("the code of the runtime is kept, and tells", () => {
  const client = (baseUrl: string) => new PetStore({ baseUrl, apiKey: KEY, retry: { attempts: 1 } }).pets.list().page();

  // Promise: codes-of-errors
  test("that no server listens", async () => {
    expect(await errorOf(client(`http://127.0.0.1:${await getPort()}/v1`))).toMatchObject({
      code: "network",
      message: "The connection to the service failed: ECONNREFUSED.",
    });
  });

  // Promise: codes-of-errors
  test("that the server closed the connection", async () => {
    const baseUrl = await serveApi(({ socket }) => socket.destroy());
    expect(await errorOf(client(baseUrl))).toMatchObject({
      code: "network",
      message: expect.stringMatching(/^The connection to the service failed: (UND_ERR_SOCKET|ECONNRESET)\.$/),
    });
  });
});

// Promise: the-key-stays
test.each([
  ["another server", "/v1/pets"],
  ["another path of the server, which would get the API key", "/login"],
])("a redirect to %s is an error, and nothing is sent there", async (place, path) => {
  const received: (string | undefined)[] = [];
  const elsewhere = await serveApi(({ url }, response) => {
    received.push(url);
    response.end(ANIMAL);
  });
  const Location = new URL(path, place === "another server" ? elsewhere : "http://service").href;
  const baseUrl = await serveApi(({ url, headers }, response) => {
    if (url?.startsWith("/v1/")) response.writeHead(307, { Location: Location.replace("service", headers.host ?? "") });
    else received.push(url);
    response.end(ANIMAL);
  });
  const store = new PetStore({ baseUrl, apiKey: KEY });
  for (const request of [() => store.pets.create({ name: "Rex", categoryId: 1 }), () => store.pets.get(1)])
    expect(await errorOf(request())).toMatchObject({ code: "unexpected_response", status: 307 });
  expect(received).toEqual([]);
});

// Promise: key-characters
test.each(["", " ", "petstore_live\nSECRET", "petstore_live\rSECRET", "SECRET\0", "SECRET☃", "SECRETé"])(
  "the API key %j is refused at once and not shown",
  async (apiKey) => {
    const error = await errorOf((async () => new PetStore({ baseUrl: "http://127.0.0.1/v1", apiKey }))());
    expect(error).toBeInstanceOf(TypeError);
    expect(printed(error)).not.toContain("SECRET");
  },
);

// Promise: key-characters
test("white space around an API key is removed", async () => {
  const { store, sent } = fakeService([json(200, "[]")], { apiKey: `\uFEFF ${KEY}\r\n` });
  await store.pets.list().page();
  expect(sent[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
});

// Promise: texts-of-headers
test.each(["", " ", "☃", "é", "a\nb", "a\0"])("nothing is sent with a header of %j", async (value) => {
  const { store, sent } = fakeService([json(200, "[]")]);
  for (const request of [
    store.pets.create({ name: "Rex", categoryId: 1 }, { idempotencyKey: value }),
    store.pets.update(1, {}, { ifMatch: value }),
    store.pets.delete(1, { ifMatch: value }),
    store.session(value).pets.list().page(),
  ]) {
    const error = await errorOf(request);
    expect(error).toBeInstanceOf(RangeError);
    expect(String(error)).toMatch(/^RangeError: (Idempotency-Key|If-Match|x-d1-bookmark) has to be visible ASCII\.$/);
  }
  expect(sent).toEqual([]);
});

// Promise: no-error-shows-the-key
test("a deprecation notice hides a key that the server sent back", async () => {
  const onDeprecation = vi.fn<(deprecation: Deprecation) => void>();
  const headers = { Sunset: "Thu, 05 Dec 2030 00:00:00 GMT", Link: `<https://x.example/?k=${KEY}>; rel="deprecation"` };
  const { store } = fakeService([json(200, ANIMAL, headers)], { apiKey: KEY, onDeprecation });
  await store.pets.get(1);
  expect(onDeprecation.mock.calls[0]?.[0].link).toBe('<https://x.example/?k=[API key]>; rel="deprecation"');
});
