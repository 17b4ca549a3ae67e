import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { call, create, expectError, expectJson, idOf } from "../support/client.ts";
import { key } from "../support/keys.ts";

const CATEGORIES = "/v1/categories";
beforeEach(() => env.DB.exec("DELETE FROM categories"));

const send = (method: string, path: string, body?: object | string, headers: Record<string, string> = {}) =>
  call(path, { method, key, headers, ...(body !== undefined && { body }) });
const post = (body: object | string, headers?: Record<string, string>) => send("POST", CATEGORIES, body, headers);
const names = async () =>
  ((await expectJson(await call(CATEGORIES, { key }), 200)) as { name: string }[]).map(({ name }) => name);

test("a category is created, with its address and version, and without unknown fields", async () => {
  const response = await post({ name: "Camelids", description: "", id: 999_999, version: 5 });
  const category = (await expectJson(response, 201)) as { id: number };
  expect(category).toEqual({ id: expect.any(Number), name: "Camelids", description: "" });
  expect(category.id).not.toBe(999_999);
  expect(response.headers.get("Location")).toBe(`${CATEGORIES}/${category.id}`);
  expect(response.headers.get("ETag")).toBe('"1"');
  expect(await expectJson(await post({ name: "None" }), 201)).toEqual({ id: expect.any(Number), name: "None" });
});

// Promise: texts-are-kept
test.each(["x".repeat(255), "🐕".repeat(255), " Rex\t\n", "e\u0301 \u00e9", "\u0000a", "\u0001\"\\/<b>&';--"])(
  "the text %j is returned byte for byte",
  async (text) => {
    for (const description of [text, "🐕".repeat(2_000)]) {
      const path = await create(CATEGORIES, { name: crypto.randomUUID(), description });
      expect(await (await send("PATCH", path, { name: text })).json()).toMatchObject({ name: text, description });
      await send("DELETE", path);
    }
  },
);

// Promise: texts-are-kept
test.each([
  ["no name", {}, /^name is required: a string of 1 to 255/],
  ["a name that is null", { name: null }, /^name has to be/],
  ["a name of white space", { name: " \u2028\ufeff" }, /^name has to be/],
  ["a name that is too long", { name: "🐕".repeat(256) }, /^name has to be/],
  ["a description that is a number", { name: "A", description: 5 }, /^description has to be a string of at most 2000/],
  ["a long description of two units each", { name: "A", description: "🐕".repeat(2_001) }, /^description has to be/],
  ["a description with a lone surrogate", '{"name": "A", "description": "\\ude00"}', /^description has to be/],
])("there cannot be %s", async (what, body, message) => {
  expect(await expectError(await post(body), "invalid_request")).toMatch(message);
  expect(await names()).toEqual([]);
  if (what === "no name") return;
  const path = await create(CATEGORIES, { name: "Before" });
  expect(await expectError(await send("PATCH", path, body), "invalid_request")).toMatch(message);
});

describe("two categories cannot have the same name", () => {
  // Promise: ids-ascend
  test("compared byte for byte, and a refused one uses no id", async () => {
    const first = await create(CATEGORIES, { name: "é" });
    await expectError(await post({ name: "é", description: "another" }), "category_exists");
    const others = ["É", "e\u0301", "é ", "é\u0000"];
    for (const [place, name] of others.entries())
      expect(idOf(await create(CATEGORIES, { name }))).toBe(idOf(first) + 1 + place);
    expect(await names()).toEqual(["é", ...others]);
  });

  // Promise: categories-are-unique-and-in-use
  test("and the database refuses the second", async () => {
    await create(CATEGORIES, { name: "A" });
    await expect(env.DB.exec("INSERT INTO categories (name) VALUES ('A')")).rejects.toThrow(/UNIQUE/);
  });

  test("also by a patch, of any version, until the name is free", async () => {
    const [path, other] = [await create(CATEGORIES, { name: "A" }), await create(CATEGORIES, { name: "B" })];
    for (const headers of [{}, { "If-Match": '"1"' }, { "If-Match": '"9"' }] as Record<string, string>[])
      await expectError(await send("PATCH", path, { name: "B", description: "x" }, headers), "category_exists");
    for (const body of [{}, { name: "A" }]) {
      const response = await send("PATCH", path, body);
      expect([await response.json(), response.headers.get("ETag")]).toEqual([{ id: idOf(path), name: "A" }, '"1"']);
    }
    await send("DELETE", other);
    expect((await send("PATCH", path, { name: "B" })).headers.get("ETag")).toBe('"2"');
  });
});

// Promise: categories-are-unique-and-in-use
test("a category can be deleted only when no animal names it, and an animal may name one that does not exist", async () => {
  const path = await create(CATEGORIES, { name: "A" });
  const animals = await Promise.all([1, 2].map(() => create("/v1/pets", { name: "Rex", categoryId: idOf(path) })));
  const [first = "", second = ""] = animals;
  await expectError(await send("DELETE", path), "category_in_use");
  await expectError(await send("DELETE", path, undefined, { "If-Match": '"9"' }), "category_in_use");
  await send("DELETE", first);
  await expectError(await send("DELETE", path), "category_in_use");
  await send("PATCH", second, { categoryId: idOf(path) + 1_000_000 });
  const response = await send("DELETE", path);
  expect([response.status, await response.text()]).toEqual([204, ""]);
  await expectError(await send("DELETE", path), "not_found");
  await create("/v1/pets", { name: "Rex", categoryId: idOf(path) });
});
