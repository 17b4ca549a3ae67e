import type { RequestListener } from "node:http";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_BYTES } from "../../../client/src/attempt.ts";
import { type Fetch, PetStore, PetStoreError } from "../../../client/src/index.ts";
import { ANIMAL, CATEGORY, errorOf, fakeService, json, ORDER, serveApi } from "./fake-service.ts";

// Servers that break the rules of the service.

const MIB = 2 ** 20;

/** More than the client may read. The test sends no more than this. */
const ENDLESS = 600 * MIB;

/** The beginning of a list, followed by white space. `sent` receives the size of each chunk. */
function* endless(sent: (bytes: number) => void = () => {}): Generator<Buffer> {
  yield Buffer.from("[");
  const chunk = Buffer.alloc(MIB, " ");
  for (let bytes = 0; bytes < ENDLESS; bytes += chunk.length) {
    sent(chunk.length);
    yield chunk;
  }
}

/** Fetches a page of animals without retries. Returns the names of the animals, or the error. */
type FetchPage = (baseUrl: string, timeout?: number) => Promise<unknown>;

const inNode: FetchPage = async (baseUrl, timeout = 60_000) => {
  const own: Fetch = (url, init) => fetch(url, init);
  const store = new PetStore({ baseUrl, apiKey: "key", timeout, retry: { attempts: 1 }, fetch: own });
  try {
    return (await store.pets.list().page()).items.map(({ name }) => name);
  } catch (error) {
    if (!(error instanceof PetStoreError)) throw error;
    return { code: error.code, status: error.status };
  }
};

const WORKER = `
  import { PetStore } from "./client/src/index.ts";
  export default {
    async fetch(request) {
      const { baseUrl, timeout } = await request.json();
      const own = (url, init) => fetch(url, init);
      const store = new PetStore({ baseUrl, apiKey: "key", timeout, retry: { attempts: 1 }, fetch: own });
      const show = ({ code, status }) => ({ code, status });
      return Response.json(await store.pets.list().page().then(({ items }) => items.map(({ name }) => name), show));
    },
  };`;

let miniflare: Miniflare;
beforeAll(async () => {
  const stdin = { contents: WORKER, resolveDir: process.cwd() };
  const { outputFiles } = await build({ stdin, bundle: true, format: "esm", write: false });
  const script = outputFiles[0]?.text ?? "";
  miniflare = new Miniflare(convertV4MiniflareOptions({ modules: true, script, compatibilityDate: "2026-01-01" }));
});
afterAll(() => miniflare.dispose());

const inWorkerd: FetchPage = async (baseUrl, timeout = 60_000) => {
  const body = JSON.stringify({ baseUrl, timeout });
  const response = await miniflare.dispatchFetch("http://shop.test/", { method: "POST", body });
  return response.json();
};

describe.each([
  ["in Node.js", inNode],
  ["in workerd", inWorkerd],
])("the client %s", (_runtime, fetchPage) => {
  // Promise: large-responses
  test("reads a response of the maximum size, and not a byte more", async () => {
    for (const [size, outcome] of [
      [MAX_BYTES, ["Rex"]],
      [MAX_BYTES + 1, { code: "unexpected_response", status: 200 }],
    ] as const) {
      const baseUrl = await serveApi((_request, response) => response.end(`[${ANIMAL.padEnd(size - 2)}]`));
      expect(await fetchPage(baseUrl)).toEqual(outcome);
    }
  });

  test("takes a connection that breaks for a failure of the network, also through a fetch of the caller", async () => {
    for (const listener of [
      ({ socket }) => socket.destroy(),
      ({ socket }, response) => response.write("[", () => socket.destroy()),
    ] as RequestListener[]) {
      expect(await fetchPage(await serveApi(listener))).toEqual({ code: "network" });
    }
  });

  test("ends a response that has no end", async () => {
    let sent = 0;
    const baseUrl = await serveApi((_request, response) => {
      pipeline(
        endless((bytes) => (sent += bytes)),
        response,
      ).catch(() => {});
    });
    expect(await fetchPage(baseUrl)).toEqual({ code: "unexpected_response", status: 200 });
    // The rest is in the buffers of the runtime and of the system.
    expect(sent).toBeLessThan(MAX_BYTES + 64 * MIB);
  });

  // Promise: large-responses
  test("aborts a response that is small until it is decompressed", async () => {
    const baseUrl = await serveApi((_request, response) => {
      response.setHeader("Content-Encoding", "gzip");
      pipeline(endless(), createGzip({ level: 1 }), response).catch(() => {});
    });
    expect(await fetchPage(baseUrl)).toEqual({ code: "unexpected_response", status: 200 });
  });

  test("aborts a response that arrives byte by byte", async () => {
    const baseUrl = await serveApi((_request, response) => {
      response.write("[");
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(timer));
    });
    const begin = performance.now();
    expect(await fetchPage(baseUrl, 200)).toEqual({ code: "timeout" });
    expect(performance.now() - begin).toBeLessThan(10_000);
  });

  test("parses any JSON in linear time", async () => {
    // In workerd, these keys make JSON.parse with a reviver take a minute for a megabyte.
    const keys = Array.from({ length: MIB / 16 }, (_, index) => `"${(index * 2 ** 16) % 2 ** 32}":1`);
    const baseUrl = await serveApi((_request, response) => response.end(`[{${keys.join()}}]`));
    const begin = performance.now();
    expect(await fetchPage(baseUrl)).toEqual({ code: "unexpected_response", status: 200 });
    expect(performance.now() - begin).toBeLessThan(10_000);
  });
});

// Promise: large-responses
test("the largest page of the service is far below the maximum size of a response", async () => {
  const characters = (count: number) => "\\ud83d\\udc15".repeat(count);
  const category = (id: number) => `{"id":${id},"name":"${characters(255)}","description":"${characters(2_000)}"}`;
  const page = `[${Array.from({ length: 100 }, (_, index) => category(2 ** 52 + index)).join()}]`;
  expect(page.length).toBeLessThan(MAX_BYTES / 1.5);
  const { items } = await fakeService([json(200, page)])
    .store.categories.list({ limit: 100 })
    .page();
  expect(items).toHaveLength(100);
  expect(items[99]?.description).toBe("🐕".repeat(2_000));
});

type Request = (store: ReturnType<typeof fakeService>["store"]) => Promise<unknown>;

/** Each resource, with the requests that expect one and the request that expects a list. */
const RESOURCES: [name: string, resource: string, single: Request[], list: Request][] = [
  [
    "an animal",
    ANIMAL,
    [
      ({ pets }) => pets.create({ name: "Rex", categoryId: 1 }),
      ({ pets }) => pets.get(1),
      ({ pets }) => pets.update(1, {}),
    ],
    ({ pets }) => pets.list().page(),
  ],
  [
    "a category",
    CATEGORY,
    [({ categories }) => categories.create({ name: "Dogs" }), ({ categories }) => categories.update(1, {})],
    ({ categories }) => categories.list().page(),
  ],
  [
    "an order",
    ORDER,
    [({ orders }) => orders.place({ petId: 1 }), ({ orders }) => orders.get(1), ({ orders }) => orders.ship(1)],
    ({ orders }) => orders.list().page(),
  ],
];

/** Tests all items at once: each client mostly waits between its attempts. */
const each = <Item>(items: Item[], check: (item: Item) => Promise<void>) => Promise.all(items.map(check));

describe.each(RESOURCES)("a response that should be %s", (_name, resource, single, list) => {
  const fields = resource.slice(1, -1).split(/,(?=")/);
  /** The resource with something else for each of its fields in turn. */
  const withEach = (other: (name: string) => string[]) =>
    fields.map((field, index) => `{${fields.toSpliced(index, 1, ...other(field.split(":")[0] ?? "")).join()}}`);
  const withId = (id: string) => `{${fields.with(0, `"id":${id}`).join()}}`;
  const others = [
    ...withEach(() => []),
    ...withEach((name) => [`${name}:{}`]),
    ...["null", '"5"', "1.5", "1e2", "[5]", '["5"]', "9223372036854775808"].map(withId),
    "{}",
    "null",
    "5",
    '"text"',
    "true",
  ];

  // Promise: fields-of-responses
  test("is unexpected when it has another form", async () => {
    const bodies = [...others, "[]", `[${resource}]`, "<h1>Hello</h1>"];
    await each(
      bodies.flatMap((body) => single.map((request) => ({ body, request }))),
      async ({ body, request }) => {
        const { store } = fakeService([json(200, body, { "Content-Type": "text/html", "X-Request-Id": "request-1" })]);
        const error = { code: "unexpected_response", status: 200, requestId: "request-1" };
        expect(await errorOf(request(store)), body).toMatchObject(error);
      },
    );
  });

  test("is unexpected when it is a list of another form", async () => {
    const twice = `[${resource},${resource}]`;
    const bodies = [...others.map((item) => `[${item}]`), twice, resource, "{}", "null", `{"0":${resource}}`];
    await each(bodies, async (body) => {
      const { store } = fakeService([json(200, body)]);
      expect(await errorOf(list(store)), body).toMatchObject({ code: "unexpected_response", status: 200 });
    });
  });

  // Promise: fields-of-responses
  test("may have fields of later versions", async () => {
    const later = fields.map((field) => (field.startsWith('"status"') ? '"status":"lost"' : field));
    const owner = '{"id":["5"],"petId":9007199254740993,"categoryId":9999999999999999999}';
    const body = `{"owner":${owner},${later.join()},"tags":[1.5,null],"__proto__":{}}`;
    const added = { owner: { id: ["5"], petId: 9007199254740993n, categoryId: 1e19 }, tags: [1.5, null] };
    for (const request of single) {
      const result = (await request(fakeService([json(200, body)]).store)) as Record<string, unknown>;
      expect(Object.values(result)[0]).toMatchObject(added);
    }
    expect(await list(fakeService([json(200, `[${body}]`)]).store)).toMatchObject({ items: [added] });
  });
});

const TIME = "2026-11-22T08:30:00.000Z";

/** Everything with optional fields, with all that the client checks. */
test.each<[name: string, item: Record<string, unknown>, Request]>([
  ["an animal", { id: 1, name: "", categoryId: 1, status: "", externalId: "" }, ({ pets }) => pets.update(1, {})],
  ["a category", { ...JSON.parse(CATEGORY), description: "" }, ({ categories }) => categories.update(1, {})],
  ["an order", { ...JSON.parse(ORDER), shipDate: TIME, reference: "" }, ({ orders }) => orders.get(1)],
  ["a key", { id: "key_1", name: "", scopes: [], expiresAt: TIME }, (store) => store.key()],
  [
    "a webhook",
    { id: 1, url: "", types: [], enabled: false, disabledReason: "", createdBy: "", createdAt: TIME, concurrency: 6 },
    ({ webhooks }) => webhooks.get(1),
  ],
  ["the state of a webhook", { health: "ok", pending: 0, cursor: "", resets: 0 }, ({ webhooks }) => webhooks.state(1)],
])("a field of %s that is of another kind is unexpected", async (_name, item, request) => {
  const ask = (body: object) => request(fakeService([json(200, JSON.stringify(body), { ETag: '"1"' })]).store);
  await ask(item);
  for (const [field, value] of Object.entries(item)) {
    for (const other of [[], true, "x", 5].filter((one) => typeof one !== typeof value)) {
      const error = await errorOf(ask({ ...item, [field]: other }));
      expect(error, `${field}: ${String(other)}`).toMatchObject({ code: "unexpected_response" });
    }
  }
});

test("a deletion that is not a 204 is unexpected", async () => {
  for (const reply of [json(200, ANIMAL), json(200, ""), json(202, "{}")]) {
    for (const request of [
      ({ pets }) => pets.delete(1),
      ({ categories }) => categories.delete(1),
      ({ orders }) => orders.cancel(1),
    ] as Request[]) {
      expect(await errorOf(request(fakeService([reply]).store))).toBeInstanceOf(PetStoreError);
    }
  }
});

test("a 204 is unexpected where the service returns something", async () => {
  for (const request of RESOURCES.flatMap(([, , single, list]) => [...single, list])) {
    const error = await errorOf(request(fakeService([() => new Response(null, { status: 204 })]).store));
    expect(error).toMatchObject({ code: "unexpected_response", status: 204 });
  }
});

// Promise: the-key-stays
test("the key is sent to no other server, whatever the link is", async () => {
  let strayed = 0;
  const other = await serveApi((_request, response) => {
    strayed++;
    response.end("[]");
  });
  const paths: (string | undefined)[] = [];
  const baseUrl = await serveApi(({ url }, response) => {
    paths.push(url);
    if (paths.length === 1) response.setHeader("Link", `<${other}/pets?cursor=A>; rel="next"`);
    response.end(paths.length === 1 ? `[${ANIMAL}]` : "[]");
  });
  const seen: bigint[] = [];
  for await (const { id } of new PetStore({ baseUrl, apiKey: "key" }).pets.list()) seen.push(id);
  expect(seen).toEqual([2n ** 63n - 1n]);
  expect(paths).toEqual(["/v1/pets", "/v1/pets?cursor=A"]);
  expect(strayed).toBe(0);
});

test.each(["<?cursor=A", "?cursor=A", "A", "<", '>; rel="nex"'])(
  "a Link header of many %s is read in linear time",
  async (part) => {
    for (const start of ["<?cursor=", "<>;"]) {
      const { store } = fakeService([json(200, "[]", { Link: `${start}${part.repeat(50_000)};` })]);
      const begin = performance.now();
      expect(await store.pets.list().page()).toMatchObject({ items: [], cursor: undefined });
      expect(performance.now() - begin).toBeLessThan(2_000);
    }
  },
);

test.each(["zzz", "é", "00000001-00000000-00000000-0000000000000000000000000000000G"])(
  "a session does not keep the bookmark %s, which the service would refuse",
  async (bookmark) => {
    const { store, sent } = fakeService([json(200, ORDER, { "x-d1-bookmark": encodeURI(bookmark) }), json(200, ORDER)]);
    const session = store.session();
    await session.orders.get(1);
    expect(session.bookmark).toBeUndefined();
    await session.orders.get(1);
    expect(sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([undefined, undefined]);
  },
);

// Promise: responses-of-proxies
test("an error that names another status than its response is none of the service", async () => {
  const reply = json(404, '{"code":"not_found","message":"There is no animal with this id.","status":200}');
  expect(await errorOf(fakeService([reply]).store.pets.get(1))).toMatchObject({
    code: "unexpected_response",
    status: 404,
  });
});
