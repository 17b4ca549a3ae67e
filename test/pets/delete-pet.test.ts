import { beforeEach, expect, test, vi } from "vitest";
import { call, expectError, REQUEST_ID } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { key } from "../support/keys.ts";

let path: string;
const create = () => call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 7 } });

beforeEach(async () => {
  path = (await create()).headers.get("Location") ?? "";
});

const remove = (headers: Record<string, string> = {}, bindings: Partial<Env> = {}) =>
  call(path, { method: "DELETE", key, headers, bindings });

// Promise: deletions-can-be-repeated
test("a deletion is 204 without a body, and the animal is 404 afterwards", async () => {
  const response = await remove();
  expect(response.status).toBe(204);
  expect(await response.text()).toBe("");
  expect(response.headers.get("Content-Type")).toBeNull();
  expect(response.headers.get("ETag")).toBeNull();
  expect(response.headers.get("X-Request-Id")).toMatch(REQUEST_ID);
  expect(response.headers.get("Cache-Control")).toBe("private, no-store");
  expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
  await expectError(await remove(), "not_found");
  await expectError(await call(path, { key }), "not_found");
  await expectError(await call(path, { method: "PATCH", key, body: {} }), "not_found");
});

// Promise: deletions-are-last, events-of-deletions, ids-ascend
test("an id is never used again", async () => {
  await remove();
  expect(Number((await create()).headers.get("Location")?.split("/").at(-1))).toBeGreaterThan(
    Number(path.split("/").at(-1)),
  );
});

// Promise: faults
test("a deletion is not retried, because after a failure it is unknown whether it took effect", async () => {
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  for (const message of [...TRANSIENT_ERRORS, ...LASTING_ERRORS]) {
    const { DB, roundTrips } = observedDatabase({ when: "before", message });
    await expectError(await remove({}, { DB }), "service_unavailable");
    expect(roundTrips()).toBe(1);
  }
  const { DB } = observedDatabase({ when: "after", message: TRANSIENT_ERRORS[0] ?? "" });
  await expectError(await remove({}, { DB }), "service_unavailable");
  await expectError(await remove(), "not_found");
  vi.restoreAllMocks();
});
