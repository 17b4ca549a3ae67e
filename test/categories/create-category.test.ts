import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { call, expectError, expectJson } from "../support/client.ts";
import { key } from "../support/keys.ts";

beforeEach(async () => {
  await env.DB.exec("DELETE FROM categories");
});

const create = (body: object | string, headers: Record<string, string> = {}) =>
  call("/v1/categories", { method: "POST", key, body, headers });
const names = async () =>
  (await env.DB.prepare("SELECT name FROM categories ORDER BY id").all<{ name: string }>()).results.map(
    ({ name }) => name,
  );

test("a category is created, with its address and version", async () => {
  const response = await create({ name: "Camelids", description: "Alpacas and llamas." });
  const category = (await expectJson(response, 201)) as { id: number };
  expect(category).toEqual({ id: expect.any(Number), name: "Camelids", description: "Alpacas and llamas." });
  expect(response.headers.get("Location")).toBe(`/v1/categories/${category.id}`);
  expect(response.headers.get("ETag")).toBe('"1"');
  expect(await (await call("/v1/categories", { key })).json()).toEqual([category]);
});

test("a missing description is absent from the response, and an empty one is stored", async () => {
  expect(await expectJson(await create({ name: "None" }), 201)).toEqual({ id: expect.any(Number), name: "None" });
  expect(await expectJson(await create({ name: "Empty", description: "" }), 201)).toMatchObject({ description: "" });
});

// Promise: texts-are-kept
test("names and descriptions are returned byte for byte", async () => {
  for (const text of [
    "x".repeat(255),
    "🐕".repeat(255),
    " Rex\t\n",
    "e\u0301 \u00e9",
    "\u0000a",
    "\u0001\"\\/<b>&';--",
  ]) {
    expect(await (await create({ name: text, description: text })).json()).toMatchObject({
      name: text,
      description: text,
    });
  }
  const description = "🐕".repeat(2_000);
  expect(await (await create({ name: "long", description })).json()).toMatchObject({ description });
});

test("unknown fields, the id among them, are ignored", async () => {
  expect(await expectJson(await create({ name: "A", id: 999, version: 5 }), 201)).not.toMatchObject({ id: 999 });
});

// Promise: texts-are-kept
test.each([
  ["no name", {}, /^name is required: a string of 1 to 255/],
  ["a name of white space", { name: " \u2028\ufeff" }, /^name has to be/],
  ["a name that is too long", { name: "🐕".repeat(256) }, /^name has to be/],
  ["a description that is null", { name: "A", description: null }, /^description has to be a string of at most 2000/],
  ["a description that is a number", { name: "A", description: 5 }, /^description has to be/],
  ["a description that is too long", { name: "A", description: "x".repeat(2_001) }, /^description has to be/],
  ["a long description of two units each", { name: "A", description: "🐕".repeat(2_001) }, /^description has to be/],
  ["a description with a lone surrogate", '{"name": "A", "description": "\\ude00"}', /^description has to be/],
])("there cannot be %s", async (_, body, message) => {
  expect(await expectError(await create(body), "invalid_request")).toMatch(message);
  expect(await names()).toEqual([]);
});

describe("two categories cannot have the same name", () => {
  test("compared byte for byte", async () => {
    await create({ name: "é" });
    await expectError(await create({ name: "é", description: "another" }), "category_exists");
    for (const other of ["É", "e\u0301", "é ", "é\u0000"]) expect((await create({ name: other })).status).toBe(201);
    expect(await names()).toEqual(["é", "É", "e\u0301", "é ", "é\u0000"]);
  });

  // Promise: categories-are-unique-and-in-use
  test("and the database refuses the second", async () => {
    await create({ name: "A" });
    await expect(env.DB.exec("INSERT INTO categories (name) VALUES ('A')")).rejects.toThrow(/UNIQUE/);
  });

  // Promise: ids-ascend
  test("a refused creation consumes neither an id nor its key", async () => {
    const first = await (await create({ name: "A" })).json<{ id: number }>();
    const headers = { "Idempotency-Key": "refused" };
    await expectError(await create({ name: "A" }, headers), "category_exists");
    await env.DB.exec("DELETE FROM categories");
    const created = await create({ name: "A" }, headers);
    expect(created.headers.get("Idempotency-Replayed")).toBeNull();
    expect(await created.json()).toEqual({ id: first.id + 1, name: "A" });
  });
});
