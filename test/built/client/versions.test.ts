import { expect, expectTypeOf, test } from "vitest";
import type { Animal, Category, Order } from "../../../client/src/index.ts";
import { ANIMAL, CATEGORY, errorOf, fakeService, json, ORDER, type Reply } from "./fake-service.ts";

/** A resource as a list with `include=version` has it. */
const versioned = (resource: string, version: number | string) => `${resource.slice(0, -1)},"version":${version}}`;

const NOT_MODIFIED: Reply = () => new Response(null, { status: 304, headers: { ETag: '"3"' } });

// Promise: list-versions
test("a list has the etag and the version of each item when the program asks for it", async () => {
  const { store, sent } = fakeService([
    json(200, `[${versioned(ANIMAL, 3)}]`),
    json(200, `[${versioned(CATEGORY, 1)}]`),
    json(200, `[${versioned(ORDER, 2)}]`),
  ]);
  const [animal] = await store.pets.list({ etags: true, status: "sold" }).all(1);
  expectTypeOf(animal).toEqualTypeOf<(Animal & { etag: string; version: number }) | undefined>();
  expect(animal).toEqual({
    id: 2n ** 63n - 1n,
    name: "Rex",
    categoryId: -(2n ** 63n),
    status: "available",
    etag: '"3"',
    version: 3,
  });
  const [category] = await store.categories.list({ etags: true }).all(1);
  expectTypeOf(category).toEqualTypeOf<(Category & { etag: string; version: number }) | undefined>();
  expect(category).toEqual({ id: 1n, name: "Dogs", etag: '"1"', version: 1 });
  const { items } = await store.orders.list({ etags: true }).page();
  expectTypeOf(items).toEqualTypeOf<(Order & { etag: string; version: number })[]>();
  expect(items[0]).toMatchObject({ id: 1n, petId: 2n, etag: '"2"', version: 2 });
  expect(sent.map(({ path }) => path)).toEqual([
    "/pets?status=sold&include=version",
    "/categories?include=version",
    "/store/orders?include=version",
  ]);
});

test("without etags, a list does not ask for versions", async () => {
  const { store, sent } = fakeService([json(200, `[${ANIMAL}]`)]);
  for (const query of [{}, { etags: false }, { etags: undefined }] as const) {
    const [animal] = await store.pets.list(query).all(1);
    expectTypeOf(animal).toEqualTypeOf<Animal | undefined>();
    expect(animal).not.toHaveProperty("etag");
  }
  expect(new Set(sent.map(({ path }) => path))).toEqual(new Set(["/pets"]));
  const perhaps = store.pets.list({ etags: Date.now() < 0 });
  expectTypeOf(await perhaps.all(1)).toEqualTypeOf<(Animal | (Animal & { etag: string; version: number }))[]>();
});

test.each(["", '"3"', "null"])("a list whose item has the version %s is none of the service", async (version) => {
  const item = version === "" ? ANIMAL : versioned(ANIMAL, version);
  const { store } = fakeService([json(200, `[${item}]`)], { retry: { attempts: 1 } });
  expect(await errorOf(store.pets.list({ etags: true }).page())).toMatchObject({ code: "unexpected_response" });
});

test("a misspelt filter or option does not compile", () => {
  const { store, sent } = fakeService([]);
  const calls = () => [
    // @ts-expect-error -- there is no such filter
    store.pets.list({ status: "sold", limti: 5 }),
    // @ts-expect-error -- there is no such sort
    store.pets.list({ sort: "name" }),
    // @ts-expect-error -- `etags` stands for it
    store.pets.list({ status: "sold", include: "version" }),
    // @ts-expect-error -- there is no such option
    store.orders.get(1, { maxAge: 5, ifNonMatch: '"1"' }),
  ];
  expect(calls).toBeTypeOf("function");
  expect(sent).toEqual([]);
});

// Promise: not-modified
test("a read of one resource tells that nothing changed, for every resource", async () => {
  const { store, sent } = fakeService([
    json(200, ORDER, { ETag: '"3"' }),
    NOT_MODIFIED,
    json(200, ANIMAL, { ETag: '"4"' }),
    NOT_MODIFIED,
    json(200, CATEGORY, { ETag: '"4"' }),
    NOT_MODIFIED,
  ]);
  const order = await store.orders.get(1, { ifNoneMatch: undefined });
  expectTypeOf(order.notModified).toEqualTypeOf<boolean>();
  expect(order).toMatchObject({ order: { id: 1n }, etag: '"3"', notModified: false });
  const read = async (known?: string) => store.orders.get(1, { ifNoneMatch: known });
  const known = await read(order.etag);
  expect(known).toMatchObject({ etag: '"3"', notModified: true });
  expect(known.order).toBeUndefined();
  expectTypeOf(known.order).toEqualTypeOf<Order | undefined>();
  if (!known.notModified) expectTypeOf(known.order).toEqualTypeOf<Order>();

  const animal = await store.pets.get(1, { ifNoneMatch: '"3"' });
  expect(animal).toMatchObject({ animal: { name: "Rex" }, etag: '"4"', notModified: false });
  if (!animal.notModified) expectTypeOf(animal.animal).toEqualTypeOf<Animal>();
  expect((await store.pets.get(1, { ifNoneMatch: 'W/"3"' })).notModified).toBe(true);
  const category = await store.categories.get(1, { ifNoneMatch: '"3"' });
  expect(category).toMatchObject({ category: { name: "Dogs" }, etag: '"4"', notModified: false });
  if (!category.notModified) expectTypeOf(category.category).toEqualTypeOf<Category>();
  expect((await store.categories.get(1, { ifNoneMatch: "*" })).notModified).toBe(true);

  expect(sent.map(({ path, headers }) => [path, headers["if-none-match"]])).toEqual([
    ["/store/orders/1", undefined],
    ["/store/orders/1", '"3"'],
    ["/pets/1", '"3"'],
    ["/pets/1", 'W/"3"'],
    ["/categories/1", '"3"'],
    ["/categories/1", "*"],
  ]);
});

test("a read without a version always has the resource", async () => {
  const { store } = fakeService([json(200, CATEGORY, { ETag: '"1"' }), json(200, ORDER)]);
  const { category, etag } = await store.categories.get(1, { maxAge: 5 });
  expectTypeOf(category).toEqualTypeOf<Category>();
  expect({ category, etag }).toEqual({ category: { id: 1n, name: "Dogs" }, etag: '"1"' });
  expectTypeOf((await store.orders.get(1)).order).toEqualTypeOf<Order>();
});

test("a 304 that nobody asked for is an error", async () => {
  const { store } = fakeService([NOT_MODIFIED], { retry: { attempts: 1 } });
  expect(await errorOf(store.orders.get(1))).toMatchObject({ code: "unexpected_response", status: 304 });
  expect(await errorOf(store.orders.get(1, { ifNoneMatch: undefined }))).toMatchObject({ status: 304 });
  expect(await errorOf(store.orders.list().page())).toMatchObject({ status: 304 });
  expect(await errorOf(store.orders.get(1, { ifNoneMatch: "" }))).toBeInstanceOf(RangeError);
});

// Promise: max-age
test("every read may allow an age", async () => {
  const { store, sent } = fakeService([
    json(200, `[${ANIMAL}]`, { Link: '</v1/pets?cursor=A>; rel="next"' }),
    json(200, "[]"),
    json(200, CATEGORY),
    json(200, ORDER),
    json(200, ANIMAL),
    json(200, "[]"),
  ]);
  expect(await store.pets.list({}, { maxAge: 5 }).all(10)).toHaveLength(1);
  await store.categories.get(1, { maxAge: 0 });
  await store.orders.get(1, { maxAge: 3_600 });
  await store.pets.get(1);
  await store.orders.list({}, { maxAge: undefined }).page({ maxAge: 7 });
  expect(sent.map(({ headers }) => headers["cache-control"])).toEqual([
    "max-age=5",
    "max-age=5",
    "max-age=0",
    "max-age=3600",
    undefined,
    "max-age=7",
  ]);
});

// Promise: max-age
test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null])("an age of %s is a mistake", async (age) => {
  const { store, sent } = fakeService([json(200, ORDER)]);
  const maxAge = age as number;
  const error = new TypeError("maxAge has to be a whole number of seconds.");
  expect(await errorOf(store.orders.get(1, { maxAge }))).toEqual(error);
  expect(await errorOf(store.pets.list({}, { maxAge }).all(10))).toEqual(error);
  expect(sent).toEqual([]);
});

// Promise: inventory-age, inventory-method
test("the inventory has a count for each status, and its age", async () => {
  const counts = '{"available":2509,"pending":12,"sold":0}';
  const { store, sent } = fakeService([json(200, counts), json(200, counts, { Age: "7" })]);
  const inventory = { available: 2509, pending: 12, sold: 0 };
  expect(await store.orders.inventory()).toEqual({ inventory, age: 0 });
  expect(await store.orders.inventory()).toEqual({ inventory, age: 7 });
  expect(sent.map(({ method, path }) => [method, path])).toEqual([
    ["GET", "/store/inventory"],
    ["GET", "/store/inventory"],
  ]);
});

test("an inventory without a count is none of the service", async () => {
  const { store } = fakeService([json(200, '{"available":1,"pending":2}')], { retry: { attempts: 1 } });
  expect(await errorOf(store.orders.inventory())).toMatchObject({ code: "unexpected_response" });
});
