import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { call, create, idOf } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { eventsOf, FEED, latest, page, since } from "./feed.ts";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const REX = { name: "Rex", categoryId: 7 };

const unique = () => crypto.randomUUID();
const once = () => ({ "Idempotency-Key": unique() });

const send = (method: string, path: string, body?: object | string, headers = {}) =>
  call(path, { method, key, headers, ...(body === undefined ? {} : { body }) });

const newPet = () => create("/v1/pets", REX);
const newCategory = () => create("/v1/categories", { name: unique(), description: "x" });
const newOrder = async (pet: string) => create("/v1/store/orders", { petId: idOf(pet) });

test("an event has these fields, in this order", async () => {
  const before = Date.now();
  const { response, events } = await eventsOf(key, () => send("POST", "/v1/pets", REX));
  const [event] = events;
  expect(events).toEqual([
    {
      id: expect.stringMatching(/^evt_[0-9a-f]{24}$/),
      type: "pet.created",
      timestamp: expect.stringMatching(TIME),
      version: 1,
      data: await response.json(),
    },
  ]);
  expect(Object.keys(event ?? {})).toEqual(["id", "type", "timestamp", "version", "data"]);
  expect(Math.abs(Date.parse(event?.timestamp ?? "") - before)).toBeLessThan(60_000);
});

// Promise: events-have-versions, events-of-deletions, feed-is-in-order, versions-count-changes
test("the versions of each resource ascend without a hole", async () => {
  const start = await latest(key);
  const pet = await newPet();
  const category = await newCategory();
  for (const status of ["sold", "sold", "pending", "available"]) await send("PATCH", pet, { status }, once());
  await send("DELETE", await newOrder(pet));
  const order = await newOrder(pet);
  await send("PATCH", order, { status: "shipped" });
  await send("DELETE", order);
  for (const description of ["y", "y", null]) await send("PATCH", category, { description });
  await send("DELETE", category);
  const versions: { [resource: string]: number[] } = {};
  const events = await since(key, start);
  for (const { type, version, data } of events) {
    (versions[`${type.split(".")[0]} ${(data as { id: number }).id}`] ??= []).push(version);
  }
  expect(versions).toEqual({
    [`pet ${idOf(pet)}`]: [1, 2, 3, 4, 5, 6, 7, 8],
    [`category ${idOf(category)}`]: [1, 2, 3, 4],
    [`order ${idOf(order) - 1}`]: [1, 2],
    [`order ${idOf(order)}`]: [1, 2],
  });
  const ids = events.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
});

// Promise: events-have-versions
describe("the data equals the body of the resource, byte for byte", () => {
  /** The text of the data of the events after the cursor. */
  async function dataSince(cursor: string): Promise<string[]> {
    const text = await (await call(`${FEED}?cursor=${cursor}`, { key })).text();
    const [, list = ""] = /^\{"events":\[(.*)\],"cursor":"[0-9a-f]{32}","more":false\}$/s.exec(text) ?? [];
    return list.split(/(?<=\}),(?=\{"id":"evt_)/).map((event) => /,"data":(.+)\}$/s.exec(event)?.[1] ?? event);
  }
  const textOf = async (path: string) => (await send("GET", path)).text();

  // One character of each plane of Unicode, and those that JSON escapes.
  const PLANES = Array.from({ length: 17 }, (_, plane) => String.fromCodePoint(plane * 0x1_00_00 + 0x1_23)).join("");
  const CONTROLS = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join("");
  const NAMES = [
    "\u0000",
    `a\u0000b`,
    PLANES,
    `x${CONTROLS}`,
    '"\\/\u007f\u2028\u2029',
    "e\u0301 é ﷺ",
    "\ufeffx\uffff",
  ];
  const INTEGERS = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 0n];

  test.each(NAMES)("with the name %j", async (name) => {
    const cursor = await latest(key);
    const pet = await create("/v1/pets", { name, categoryId: 1 });
    const texts = [await textOf(pet)];
    await send("PATCH", pet, { name: `${name}!` });
    texts.push(await textOf(pet));
    const batch = await send("POST", "/v1/pets/batch", [{ name, categoryId: 1 }], once());
    texts.push((await batch.text()).slice(1, -1));
    const category = await create("/v1/categories", { name, description: name });
    texts.push(await textOf(category));
    await send("PATCH", category, { description: `${name}!` });
    texts.push(await textOf(category));
    expect(await dataSince(cursor)).toEqual(texts);
  });

  test.each(INTEGERS)("with the categoryId %s", async (categoryId) => {
    const cursor = await latest(key);
    const pet = await create("/v1/pets", `{"name":"Rex","categoryId":${categoryId}}`);
    const texts = [await textOf(pet)];
    expect(texts[0]).toContain(`"categoryId":${categoryId},`);
    await send("PATCH", pet, { name: "Max" });
    texts.push(await textOf(pet));
    const batch = await send("POST", "/v1/pets/batch", `[{"name":"Rex","categoryId":${categoryId}}]`);
    texts.push((await batch.text()).slice(1, -1));
    const order = await newOrder(pet);
    texts.push(await textOf(order), await textOf(pet));
    expect(await dataSince(cursor)).toEqual(texts);
  });

  test("with an id beyond 2^53, also of what is deleted and of a batch", async () => {
    const id = 2n ** 53n + 3n;
    const insert = (sql: string) => env.DB.prepare(sql).bind(String(id)).run();
    await insert("INSERT INTO pets (id, name, category_id, status) VALUES (CAST(? AS INTEGER), 'Rex', 1, 'available')");
    await insert("INSERT INTO categories (id, name) VALUES (CAST(? AS INTEGER), 'Beyond')");
    const cursor = await latest(key);
    const [pet, category] = [`/v1/pets/${id}`, `/v1/categories/${id}`];
    const placed = await send("POST", "/v1/store/orders", `{"petId":${id}}`);
    const order = placed.headers.get("Location") ?? "";
    const texts = [await placed.text(), await textOf(pet)];
    await send("DELETE", order);
    texts.push(await textOf(order), await textOf(pet));
    await send("DELETE", pet);
    await send("DELETE", category);
    texts.push(`{"id":${id}}`, `{"id":${id}}`);
    for (const header of [{}, once()]) {
      const batch = await send("POST", "/v1/pets/batch", [REX, REX, REX], header);
      texts.push(...(await batch.text()).slice(1, -1).split(/(?<=\}),/));
    }
    const added = texts.slice(-6).map((text) => /^\{"id":(\d+),/.exec(text)?.[1]);
    expect(added).toEqual([1n, 2n, 3n, 4n, 5n, 6n].map((place) => String(id + place)));
    expect(await dataSince(cursor)).toEqual(texts);
    // The ids of the other tests are numbers.
    for (const table of ["pets", "categories"]) await env.DB.exec(`DELETE FROM ${table} WHERE id >= ${id}`);
    await env.DB.exec("DELETE FROM sqlite_sequence");
  });
});

// Promise: races-of-orders, the-index-refuses-a-second-order
test("twenty orders that race for an animal leave the events of one", async () => {
  const pet = await newPet();
  const cursor = await latest(key);
  await Promise.all(Array.from({ length: 20 }, () => send("POST", "/v1/store/orders", { petId: idOf(pet) })));
  const types = (await since(key, cursor)).map(({ type }) => type);
  expect(types).toEqual(["order.placed", "pet.updated"]);
});

// Promise: feed-is-in-order
test("changes that run at the same time are in the feed once each, and their ids ascend", async () => {
  const start = await latest(key);
  const pets = await Promise.all(Array.from({ length: 30 }, () => newPet()));
  await Promise.all(pets.map((pet) => send("PATCH", pet, { status: "sold" })));
  const events = await since(key, start, "limit=7");
  expect(events.filter(({ type }) => type === "pet.created")).toHaveLength(30);
  expect(events.filter(({ type }) => type === "pet.updated")).toHaveLength(30);
  const ids = events.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  expect((await page(key, `cursor=${start}`)).events).toEqual(events);
});
