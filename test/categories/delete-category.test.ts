import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import { call, expectError } from "../support/client.ts";
import { TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { faultyDatabase } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";

let key: string;
let path: string;
let id: number;

beforeAll(async () => {
  key = await grantKey();
});
beforeEach(async () => {
  const created = await call("/v1/categories", { method: "POST", key, body: { name: crypto.randomUUID() } });
  path = created.headers.get("Location") ?? "";
  ({ id } = await created.json<{ id: number }>());
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

// Promise: ids-ascend
test("an id is never used again", async () => {
  await remove();
  const next = await call("/v1/categories", { method: "POST", key, body: { name: crypto.randomUUID() } });
  expect((await next.json<{ id: number }>()).id).toBeGreaterThan(id);
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

test.each(["999999999", "-1", "x", "01"])("there is no category %s to delete", async (unknown) => {
  await expectError(await call(`/v1/categories/${unknown}`, { method: "DELETE", key }), "not_found");
});

test("If-Match with another version prevents the deletion", async () => {
  await expectError(await remove({ "If-Match": '"2"' }), "precondition_failed");
  expect((await remove({ "If-Match": '"1"' })).status).toBe(204);
});

test("a deletion is sent once", async () => {
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  const { DB, roundTrips } = faultyDatabase({ when: "after", message: TRANSIENT_ERRORS[0] ?? "" });
  await expectError(await remove({}, { DB }), "service_unavailable");
  expect(roundTrips()).toBe(1);
  await expectError(await remove(), "not_found");
  vi.restoreAllMocks();
});
