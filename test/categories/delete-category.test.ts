import { beforeEach, expect, test } from "vitest";
import { call, create, expectError, idOf } from "../support/client.ts";
import { key } from "../support/keys.ts";

let path: string;
let id: number;

beforeEach(async () => {
  path = await create("/v1/categories", { name: crypto.randomUUID() });
  id = idOf(path);
});

const remove = (headers: Record<string, string> = {}, bindings: Partial<Env> = {}) =>
  call(path, { method: "DELETE", key, headers, bindings });
const addAnimal = () => call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: id } });

test("a deletion is 204 without a body, and the category is 404 afterwards", async () => {
  const response = await remove();
  expect([response.status, await response.text()]).toEqual([204, ""]);
  await expectError(await remove(), "not_found");
  await expectError(await call(path, { method: "PATCH", key, body: {} }), "not_found");
});

// Promise: categories-are-unique-and-in-use
test("a category can be deleted only when no animal names it", async () => {
  const animals = await Promise.all([addAnimal(), addAnimal()]);
  const [first = "", second = ""] = animals.map(({ headers }) => headers.get("Location") ?? "");
  await expectError(await remove(), "category_in_use");
  await expectError(await remove({ "If-Match": '"9"' }), "category_in_use");
  await call(first, { method: "DELETE", key });
  await expectError(await remove(), "category_in_use");
  await call(second, { method: "PATCH", key, body: { categoryId: id + 1_000_000 } });
  expect((await remove()).status).toBe(204);
});

test("an animal may name a category that does not exist", async () => {
  await remove();
  expect((await addAnimal()).status).toBe(201);
});
