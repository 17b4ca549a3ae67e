import { beforeEach, describe, expect, test } from "vitest";
import { call, create, expectError, expectJson, idOf } from "../support/client.ts";
import { key } from "../support/keys.ts";

let path: string;
let id: number;
/** New for each test, because names are unique. */
let name: string;

beforeEach(async () => {
  name = `Category ${crypto.randomUUID()}`;
  path = await create("/v1/categories", { name, description: "first" });
  id = idOf(path);
});

const patch = (body: object | string, headers: Record<string, string> = {}, bindings: Partial<Env> = {}) =>
  call(path, { method: "PATCH", key, body, headers, bindings });

test.each<[object, object]>([
  [{ name: "Renamed", id: 5 }, { name: "Renamed" }],
  [{ description: "second" }, { description: "second" }],
  [{ description: "" }, { description: "" }],
  [{ description: "🐕".repeat(2_000) }, { description: "🐕".repeat(2_000) }],
])("a patch changes the fields that it names, and the version", async (fields, changed) => {
  const response = await patch(fields);
  expect(await expectJson(response, 200)).toEqual({ id, name, description: "first", ...changed });
  expect(response.headers.get("ETag")).toBe('"2"');
});

test("null removes the description, once", async () => {
  for (let attempt = 0; attempt < 2; attempt++) {
    const response = await patch({ description: null });
    expect(await response.text()).toBe(`{"id":${id},"name":"${name}"}`);
    expect(response.headers.get("ETag")).toBe('"2"');
  }
});

test("a patch that changes nothing keeps the version", async () => {
  for (const body of [{}, { name }, { description: "first" }, { name, description: "first" }]) {
    const response = await patch(body);
    expect(await expectJson(response, 200)).toEqual({ id, name, description: "first" });
    expect(response.headers.get("ETag")).toBe('"1"');
  }
});

test.each([
  ["a name that is null", { name: null }, /^name has to be/],
  ["a description that is too long", { description: "x".repeat(2_001) }, /^description has to be/],
  ["an array", "[]", /JSON object/],
])("there cannot be %s", async (_, body, message) => {
  expect(await expectError(await patch(body), "invalid_request")).toMatch(message);
});

describe("a name that another category has", () => {
  let other: string;
  beforeEach(async () => {
    other = `${name} other`;
    await call("/v1/categories", { method: "POST", key, body: { name: other } });
  });

  test("is refused, also for another version", async () => {
    await expectError(await patch({ name: other, description: null }), "category_exists");
    await expectError(await patch({ name: other }, { "If-Match": '"1"' }), "category_exists");
    await expectError(await patch({ name: other }, { "If-Match": '"9"' }), "category_exists");
    expect(await (await patch({})).json()).toEqual({ id, name, description: "first" });
    expect((await patch({})).headers.get("ETag")).toBe('"1"');
  });

  test("can be taken once it is free", async () => {
    const [, theirs] = await (
      await call(`/v1/categories?limit=100`, { key })
    )
      .json<{ id: number; name: string }[]>()
      .then((all) => all.filter((category) => category.name.startsWith(name)));
    await call(`/v1/categories/${theirs?.id}`, { method: "DELETE", key });
    expect((await patch({ name: other })).status).toBe(200);
  });
});
