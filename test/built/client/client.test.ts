import { expect, expectTypeOf, onTestFinished, test, vi } from "vitest";
import {
  type Animal,
  type Deprecation,
  PetStore,
  PetStoreError,
  type PetStoreErrorCode,
  type ServiceErrorCode,
} from "../../../client/src/index.ts";
import { ANIMAL, BOOKMARKS, CATEGORY, errorOf, failure, fakeService, json, ORDER, type Reply } from "./fake-service.ts";

const [OLD = "", MIDDLE = "", NEW = ""] = BOOKMARKS;

const animals = (...ids: number[]) =>
  `[${ids.map((id) => `{"id":${id},"name":"${id}","categoryId":1,"status":"sold"}`).join()}]`;

/** A page with a next page, whose address is that of the service behind a proxy. */
const page = (ids: number[], next?: string, bookmark?: string): Reply =>
  json(200, animals(...ids), {
    ...(next !== undefined && { Link: `<http://inside.test/v1/pets?cursor=${next}&limit=2>; rel="next"` }),
    ...(bookmark !== undefined && { "x-d1-bookmark": bookmark }),
  });

/** The ids of an iteration, and its error. */
async function iterate(
  list: AsyncIterable<{ id: bigint }>,
  onItem = () => {},
): Promise<{ ids: bigint[]; end: unknown }> {
  const ids: bigint[] = [];
  try {
    for await (const { id } of list) {
      ids.push(id);
      onItem();
    }
    return { ids, end: undefined };
  } catch (end) {
    return { ids, end };
  }
}

// Promise: lists-without-sessions, what-methods-return
test("a list returns every item of every page, with the same filters and the bookmark of the previous page", async () => {
  const { store, sent } = fakeService([page([1, 2], "A-_9", MIDDLE), page([3], "B", NEW), page([])]);
  const ids: bigint[] = [];
  for await (const animal of store.pets.list({ status: "sold", limit: 2 })) {
    expectTypeOf(animal).toEqualTypeOf<Animal>();
    ids.push(animal.id);
  }
  expect(ids).toEqual([1n, 2n, 3n]);
  expect(sent.map(({ path, headers }) => [path, headers["x-d1-bookmark"]])).toEqual([
    ["/pets?status=sold&limit=2", undefined],
    ["/pets?status=sold&limit=2&cursor=A-_9", MIDDLE],
    ["/pets?status=sold&limit=2&cursor=B", NEW],
  ]);
});

test.each([
  "<?cursor=A>; rel=next",
  "<?cursor=A>;rel=next;type=json",
  '<?cursor=A>;REL = "Next"',
  '<?limit=2&cursor=A&status=sold>; title="a, b; <c>"; rel="next"',
  '<?cursor=A>; rel="last next"',
  '</v1>; rel="successor-version", <https://x.test/v1/pets?cursor=A>; rel="next"; hreflang=en',
  '<?cursor=Z>; rel=prev, <?cursor=Y>; rel="nextish", <?cursor=A>; rel="next", </docs>; rel="deprecation"',
])("the list goes on after Link: %s", async (link) => {
  const { store, sent } = fakeService([json(200, animals(1), { Link: link }), json(200, animals(2))]);
  expect(await iterate(store.pets.list())).toEqual({ ids: [1n, 2n], end: undefined });
  expect(sent[1]?.path).toBe("/pets?cursor=A");
});

// Promise: pages-when-needed
test("an iteration that stops requests no further page", async () => {
  const { store, sent } = fakeService([page([1, 2], "A")]);
  for await (const animal of store.pets.list()) if (animal.id === 2n) break;
  expect(sent.map(({ path }) => path)).toEqual(["/pets"]);
});

/** A service of the animals 1 to `count`, with pages of `limit`. */
const animalsUpTo =
  (count: number): Reply =>
  (sent) => {
    const query = new URLSearchParams(sent.path.split("?")[1]);
    const asked = query.getAll("id").map(Number);
    if (asked.length > 100) return failure(400, "invalid_request")(sent);
    const newestFirst = query.get("sort") === "-id";
    const [limit, after] = [
      Number(query.get("limit") ?? 20),
      Number(query.get("cursor") ?? (newestFirst ? count + 1 : 0)),
    ];
    const all = Array.from({ length: count }, (_, index) => (newestFirst ? count - index : index + 1)).filter((id) =>
      newestFirst ? id < after : id > after,
    );
    const found = asked.length > 0 ? all.filter((id) => asked.includes(id)) : all;
    return page(found.slice(0, limit), found.length > limit ? String(found[limit - 1]) : undefined)(sent);
  };

// Promise: lists-of-ids
test("a list of up to a hundred ids is one request, unless it has a limit", async () => {
  const ids = Array.from({ length: 100 }, (_, index) => index + 1);
  const { store, sent } = fakeService([page(ids)]);
  expect(await store.pets.list({ id: ids }).all(100)).toHaveLength(100);
  await store.pets.list({ id: ids, limit: 7 }).page();
  expect(sent.map(({ path }) => new URLSearchParams(path.split("?")[1]).get("limit"))).toEqual(["100", "7"]);
});

// Promise: lists-of-ids
test("a list of no ids is empty, and asks the service for nothing", async () => {
  const { store, sent } = fakeService([animalsUpTo(3)]);
  const none = store.pets.list({ id: [], status: "sold" });
  expect(await none.all(10)).toEqual([]);
  const page = await none.page();
  expect(page).toMatchObject({ items: [], cursor: undefined });
  expect(await page.next()).toBeUndefined();
  await expect(store.pets.list({ id: [undefined as never] }).all(10)).rejects.toThrow(RangeError);
  expect(sent).toEqual([]);
});

// Promise: lists-of-ids, newest-first
test.each([
  [1, undefined],
  [20, "id"],
  [100, "id"],
  [1, "-id"],
  [20, "-id"],
  [100, "-id"],
] as const)("more than 100 ids become several requests, with pages of %d and sort=%s", async (limit, sort) => {
  const wanted = Array.from({ length: 500 }, (_, index) => 500 - index).filter((id) => id % 2 === 0);
  const newestFirst = wanted.filter((id) => id <= 420);
  const existing = sort === "-id" ? newestFirst : newestFirst.toReversed();
  const { store, sent } = fakeService([animalsUpTo(420)]);
  const list = (cursor?: string) => store.pets.list({ id: [...wanted, 2n, "2"], limit, sort, cursor });
  const ids = (await list().all(1_000)).map(({ id }) => Number(id));
  expect(ids).toEqual(existing);
  const asked = new Set(sent.flatMap(({ path }) => [...path.matchAll(/\bid=(\d+)/g)].map(([, id]) => Number(id))));
  expect([...asked].toSorted((a, b) => a - b)).toEqual(wanted.toReversed());

  const later: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor).page();
    later.push(...page.items.map(({ id }) => Number(id)));
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(later).toEqual(existing);
});

// Promise: searches-go-on
test("a search goes on after pages that are short or empty", async () => {
  const { store, sent } = fakeService([page([], "A"), page([3], "B"), page([], "C"), page([], "D"), page([7])]);
  const list = store.pets.list({ q: "gold ret", limit: 2 });
  expect((await list.all(2)).map(({ id }) => id)).toEqual([3n, 7n]);
  expect(sent.map(({ path }) => path)).toEqual(
    ["", "&cursor=A", "&cursor=B", "&cursor=C", "&cursor=D"].map((cursor) => `/pets?q=gold+ret&limit=2${cursor}`),
  );
});

// Promise: lists-end
test.each([
  [page([], "A"), page([], "A")],
  [page([], "A"), page([], "B"), page([], "A")],
  [page([2], "A"), page([], "B"), page([], "A")],
  [page([2], "A"), page([], "B"), page([2])],
  [page([], "")],
])("a search does not go in circles", async (...pages) => {
  const { store } = fakeService([...pages, page([9])], { retry: { attempts: 1 } });
  expect(await errorOf(store.pets.list({ q: "ada" }).all(10))).toMatchObject({ code: "unexpected_response" });
});

test("the parts of a search among many ids are not empty when they go on", async () => {
  const id = Array.from({ length: 200 }, (_, index) => index + 1);
  const { store, sent } = fakeService([page([]), page([150])]);
  expect((await store.pets.list({ q: "ada", id }).all(10)).map((animal) => animal.id)).toEqual([150n]);
  expect(sent.every(({ path }) => path.startsWith("/pets?q=ada&id="))).toBe(true);
  const broken = fakeService([page([], "A")], { retry: { attempts: 1 } });
  expect(await errorOf(broken.store.pets.list({ q: "ada", id }).all(10))).toMatchObject({
    code: "unexpected_response",
  });
});

// Promise: lists-end
test.each<[what: string, seen: bigint[], pages: Reply[], sort?: "-id"]>([
  ["that is the previous one", [1n, 2n], [page([1, 2], "A"), page([1, 2], "A")]],
  ["that is an earlier one", [1n, 2n], [page([1], "A"), page([2], "B"), page([1], "A")]],
  ["that links to itself", [1n, 2n], [page([1, 2], "A"), page([3, 4], "A")]],
  ["that is empty and links to another", [1n], [page([1], "A"), page([], "B")]],
  ["with an animal twice", [], [page([1, 1])]],
  ["with an animal of the page before", [1n, 2n], [page([1, 2], "A"), page([2], "B")]],
  ["with an animal from between", [1n, 3n], [page([1, 3], "A"), page([2], "B")]],
  ["in another order", [], [page([2, 1], "A")]],
  ["with an animal of the page before, newest first", [5n, 4n], [page([5, 4], "A"), page([4], "B")], "-id"],
  ["with an animal from between, newest first", [5n, 3n], [page([5, 3], "A"), page([4], "B")], "-id"],
  ["in another order, newest first", [], [page([4, 5], "A")], "-id"],
  ["whose link has an empty cursor", [], [page([1], "")]],
  ["whose link has no cursor", [], [json(200, animals(1), { Link: '<?limit=1>; rel="next"' })]],
])("a list ends with an error at a page %s", async (_what, seen, pages, sort) => {
  const { store, sent } = fakeService(pages, { retry: { attempts: 1 } });
  const { ids, end } = await iterate(store.pets.list({ sort }));
  expect(end).toMatchObject({ code: "unexpected_response", status: 200 });
  expect([ids, sent.length]).toEqual([seen, pages.length]);
});

test("many ids do not go on with an animal that came already, also after a part without any", async () => {
  const { store } = fakeService([page([1, 2]), page([]), page([2])], { retry: { attempts: 1 } });
  const id = Array.from({ length: 300 }, (_, index) => index + 1);
  const { ids, end } = await iterate(store.pets.list({ id }));
  expect(end).toMatchObject({ code: "unexpected_response" });
  expect(ids).toEqual([1n, 2n]);
});

test("a response is read whole, also when its pieces cut characters", async () => {
  const name = "é ま 🐕";
  const bytes = new TextEncoder().encode(ANIMAL.replace("Rex", name));
  const start = (body: ReadableStreamDefaultController<Uint8Array>) => {
    for (const byte of bytes) body.enqueue(Uint8Array.of(byte));
    body.close();
  };
  const { store } = fakeService([() => new Response(new ReadableStream({ start }))]);
  expect((await store.pets.get(1)).animal.name).toBe(name);
});

test("a response that is too large is cancelled", async () => {
  const cancel = vi.fn<() => void>();
  const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(2 ** 20));
  const { store } = fakeService([() => new Response(new ReadableStream({ pull, cancel }))], { retry: { attempts: 1 } });
  expect(await errorOf(store.pets.list().page())).toMatchObject({ code: "unexpected_response" });
  expect(cancel).toHaveBeenCalledOnce();
});

// Promise: pages-when-needed
test("all items come in one array, and more than the bound are an error", async () => {
  const { store, sent } = fakeService([animalsUpTo(10)]);
  expect((await store.pets.list({ limit: 3 }).all(10)).map(({ id }) => id)).toHaveLength(10);
  expect(sent).toHaveLength(4);
  const tooMany = errorOf(store.pets.list({ limit: 3 }).all(4));
  expect(await tooMany).toEqual(new RangeError("The list has more than 4 items."));
  expect(sent).toHaveLength(6);
  // One item more than the bound, on a page of its own.
  await expect(store.pets.list({ limit: 3 }).all(9)).rejects.toThrow(RangeError);
  await expect(store.pets.list().all(undefined as never)).rejects.toThrow(RangeError);
});

// Promise: pages-when-needed
test("pages are fetched one by one, and a cursor continues later", async () => {
  const orders = (id: number) => `[${ORDER.replace('"id":1', `"id":${id}`)}]`;
  const { store, sent } = fakeService([
    json(200, orders(1), { Link: '<https://petstore.test/v1/store/orders?limit=1&cursor=A>; rel="next"' }),
    json(200, orders(2)),
    json(200, "[]"),
  ]);
  const first = await store.orders.list({ limit: 1, status: undefined }).page();
  expect(first).toMatchObject({ items: [{ id: 1n }], cursor: "A" });
  const second = await first.next();
  expect(second).toMatchObject({ items: [{ id: 2n }], cursor: undefined });
  expect(await second?.next()).toBeUndefined();
  await store.categories.list({ cursor: "A" }).page();
  expect(sent.map(({ path }) => path)).toEqual([
    "/store/orders?limit=1",
    "/store/orders?limit=1&cursor=A",
    "/categories?cursor=A",
  ]);
});

test("a signal ends an iteration", async () => {
  const controller = new AbortController();
  const { store } = fakeService([page([1], "A")]);
  const list = store.pets.list({}, { signal: controller.signal });
  expect(await iterate(list, () => controller.abort("enough"))).toEqual({ ids: [1n], end: "enough" });
});

test("without a session, requests are independent", async () => {
  const { store, sent } = fakeService([json(201, ANIMAL, { "x-d1-bookmark": NEW }), json(200, ORDER)]);
  await store.pets.create({ name: "Rex", categoryId: 1 });
  await store.orders.get(1);
  expect(sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([undefined, undefined]);
});

// Promise: sessions
test("a session starts from a bookmark, takes that of every response and every error, and never goes back", async () => {
  const { store, sent } = fakeService([
    json(201, ANIMAL, { "x-d1-bookmark": MIDDLE }),
    failure(412, "precondition_failed", { "x-d1-bookmark": NEW }),
    json(200, ORDER, { "x-d1-bookmark": OLD }),
    page([]),
  ]);
  expect(store.session().bookmark).toBeUndefined();
  const session = store.session(OLD);
  expect(session.bookmark).toBe(OLD);
  await session.pets.create({ name: "Rex", categoryId: 1 });
  expect(session.bookmark).toBe(MIDDLE);
  await expect(session.pets.update(1, {}, { ifMatch: '"1"' })).rejects.toThrow("Because.");
  await session.orders.get(1);
  await session.categories.list().page();
  expect(session.bookmark).toBe(NEW);
  expect(sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([OLD, MIDDLE, NEW, NEW]);
});

// Promise: key-method
test("the key that the client sends has its name, its scopes and its end", async () => {
  const shown = { id: "key_1", name: "shop", scopes: ["pets:read"], expiresAt: "2027-01-01T00:00:00.000Z" };
  const { store } = fakeService([json(200, JSON.stringify(shown))]);
  expect(await store.key()).toEqual(shown);
});

// Promise: codes-of-errors, errors-as-json, ids-of-requests
test("an error has the code, the status and the id of the request", async () => {
  const { store } = fakeService([failure(409, "pet_not_available")]);
  const error = await errorOf(store.orders.place({ petId: 1 }));
  if (!(error instanceof PetStoreError)) throw error;
  expect(error).toMatchObject({
    name: "PetStoreError",
    code: "pet_not_available",
    status: 409,
    requestId: "request-1",
    message: "Because.",
  });
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: {
      name: "PetStoreError",
      message: "Because.",
      code: "pet_not_available",
      status: 409,
      requestId: "request-1",
      idempotencyKey: expect.any(String),
    },
  });
  expectTypeOf<"pet_not_available" | "timeout" | "later">().toExtend<PetStoreErrorCode>();
  expectTypeOf(error.code).toEqualTypeOf<PetStoreErrorCode>();
  // The type lists the known codes, so that editors suggest them.
  expectTypeOf<PetStoreErrorCode>().not.toEqualTypeOf<string>();
  expectTypeOf<"later">().not.toExtend<ServiceErrorCode>();
});

// Promise: fields-of-responses, states-may-come
test("an order may have an unknown state", async () => {
  const { store } = fakeService([json(200, ORDER.replace("placed", "returned"))]);
  const { order } = await store.orders.get(1);
  expect(order).toMatchObject({ id: 1n, petId: 2n, status: "returned" });
  expectTypeOf<"placed" | "later">().toExtend<typeof order.status>();
  expectTypeOf(order.status).not.toEqualTypeOf<string>();
});

// Promise: deprecations
test("a deprecated operation is reported once, with its removal date", async () => {
  const onDeprecation = vi.fn<(deprecation: Deprecation) => void>();
  const headers = { Sunset: "Thu, 05 Dec 2030 00:00:00 GMT", Link: '</v1/pets>; rel="successor-version"' };
  const { store } = fakeService([json(200, ANIMAL, headers)], { onDeprecation });
  await store.pets.get(1);
  await store.session().pets.get(2);
  await store.pets.update(1, {});
  const deprecation = { sunset: new Date("2030-12-05T00:00:00Z"), link: '</v1/pets>; rel="successor-version"' };
  expect(onDeprecation.mock.calls).toEqual([
    [{ operation: "getPet", ...deprecation }],
    [{ operation: "updatePet", ...deprecation }],
  ]);
});

test("each request has the key, and a body its media type", async () => {
  const named = ORDER.replace("}", ',"reference":"cart é"}');
  const replies = [json(200, ANIMAL), json(200, CATEGORY), json(200, ORDER), json(200, named), json(200, ORDER)];
  const { store, sent } = fakeService([...replies, page([])]);
  await store.pets.create({ name: "Rex", categoryId: 1, status: undefined });
  await store.categories.update(1, { description: null });
  await store.orders.ship(1, { shipDate: "2026-11-22T00:00:00Z", ifMatch: '"1"' });
  const { order } = await store.orders.update(1, { status: "shipped", reference: "cart é" });
  expectTypeOf(order.reference).toEqualTypeOf<string | undefined>();
  expect(order.reference).toBe("cart é");
  await store.orders.update(1, { reference: null });
  await store.orders.list({ reference: "cart é+&" }).page();
  expect(sent.map(({ method, path, headers, body }) => [method, path, headers["content-type"], body])).toEqual([
    ["POST", "/pets", "application/json", '{"name":"Rex","categoryId":1}'],
    ["PATCH", "/categories/1", "application/merge-patch+json", '{"description":null}'],
    [
      "PATCH",
      "/store/orders/1",
      "application/merge-patch+json",
      '{"status":"shipped","shipDate":"2026-11-22T00:00:00Z"}',
    ],
    ["PATCH", "/store/orders/1", "application/merge-patch+json", '{"status":"shipped","reference":"cart é"}'],
    ["PATCH", "/store/orders/1", "application/merge-patch+json", '{"reference":null}'],
    ["GET", "/store/orders?reference=cart+%C3%A9%2B%26", undefined, undefined],
  ]);
  for (const { headers } of sent) {
    expect(headers["authorization"]).toBe("Bearer key");
    expect(headers).not.toHaveProperty("user-agent");
  }
  expect(sent[2]?.headers["if-match"]).toBe('"1"');
});

test("a program may have a name, which a browser does not send", async () => {
  const { store, sent } = fakeService([page([])], { userAgent: "my-shop/1.0" });
  await store.pets.list().page();
  vi.stubGlobal("navigator", { userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0" });
  await store.pets.list().page();
  vi.unstubAllGlobals();
  expect(sent.map(({ headers }) => headers["user-agent"])).toEqual(["my-shop/1.0", undefined]);
});

test.each([
  ["/v1", "https://shop.test/animals/5?a=b"],
  [new URL("https://shop.test/v1/"), undefined],
])("the base may be %s, of the page %s, and the runtime's fetch is the default", async (baseUrl, page) => {
  vi.stubGlobal("location", page && new URL(page));
  const fetch = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response("[]"));
  onTestFinished(() => void (fetch.mockRestore(), vi.unstubAllGlobals()));
  await new PetStore({ baseUrl, apiKey: "key" }).pets.list().page();
  expect(fetch.mock.calls[0]?.[0]).toBe("https://shop.test/v1/pets");
  expect(() => new PetStore({ baseUrl: "", apiKey: "key" })).toThrow(TypeError);
});

// Promise: token-method
test("store.token creates a customer token, and every field of an order is there", async () => {
  const token = {
    token: "petstore_x_t_a.b",
    id: "t1",
    customer: "ada",
    scopes: ["pets:read"],
    expiresAt: "2026-11-22T10:30:00.000Z",
  };
  const { store, sent } = fakeService([json(200, JSON.stringify(token))]);
  expect(await store.token({ customer: "ada", expiresIn: 60, maxPlaced: 2, scopes: ["pets:read"] })).toEqual(token);
  expect(sent.map(({ method, path, body }) => [method, path, JSON.parse(body ?? "")])).toEqual([
    ["POST", "/key/tokens", { customer: "ada", expiresIn: 60, maxPlaced: 2, scopes: ["pets:read"] }],
  ]);
  expect(sent[0]?.headers["idempotency-key"]).toBeUndefined();
  const none = fakeService([json(200, '{"id":"t1"}')]);
  expect(await errorOf(none.store.token({ customer: "ada" }))).toMatchObject({ code: "unexpected_response" });

  const listed = fakeService([json(200, `[${ORDER.replace("}", ',"customer":"ada"}')}]`)]);
  expect((await listed.store.orders.list({ customer: "ada" }).page()).items).toMatchObject([{ customer: "ada" }]);
  expect(listed.sent[0]?.path).toBe("/store/orders?customer=ada");
});
