import { beforeEach, expect, test, vi } from "vitest";
import type * as z from "zod/mini";
import { createApp } from "../../src/app.ts";
import {
  KnownQueries,
  MAX_KNOWN_LENGTH,
  MAX_KNOWN_QUERIES,
  UNUSED_MILLISECONDS,
} from "../../src/http/known-queries.ts";
import type { QueryValidator } from "../../src/http/query.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";

let known: KnownQueries<object>;
let now = Date.now();
const wait = (milliseconds: number) => vi.setSystemTime((now += milliseconds));
beforeEach(() => {
  vi.useFakeTimers({ now, toFake: ["Date"] });
  known = new KnownQueries();
  return () => vi.useRealTimers();
});

const fill = (name: string, count = MAX_KNOWN_QUERIES) => {
  for (let index = 0; index < count; index++) known.add(`?${name}=${index}`, { index });
};
const kept = (name: string) =>
  Array.from({ length: MAX_KNOWN_QUERIES }, (_, index) => `?${name}=${index}`).filter((text) => known.has(text)).length;

test("a remembered output cannot be changed", () => {
  known.add("", { limit: 5 });
  expect(known.get("")).toEqual({ limit: 5 });
  expect(Object.isFrozen(known.get(""))).toBe(true);
});

test("a long query, and one with a cursor or a list, is not remembered", () => {
  known.add("x".repeat(MAX_KNOWN_LENGTH), {});
  known.add("x".repeat(MAX_KNOWN_LENGTH + 1), {});
  known.add("?cursor=x", { cursor: { after: "1", sort: "id" } });
  known.add("?id=1", { limit: 5, id: ["1"] });
  expect(known.has("x".repeat(MAX_KNOWN_LENGTH))).toBe(true);
  for (const text of ["x".repeat(MAX_KNOWN_LENGTH + 1), "?cursor=x", "?id=1"]) expect(known.has(text)).toBe(false);
});

test("a flood of other queries does not push out those that are used", () => {
  fill("used");
  for (let second = 0; second < 300; second++) {
    wait(1_000);
    for (let index = 0; index < MAX_KNOWN_QUERIES; index++) known.get(`?used=${index}`);
    known.add(`?flood=${second}`, {});
  }
  expect(kept("used")).toBe(MAX_KNOWN_QUERIES);
});

test("a flood makes room after a minute without use, also for the queries of a clock that was set back", () => {
  fill("flood");
  wait(UNUSED_MILLISECONDS - 1);
  known.add("?a", {});
  known.get("?flood=7");
  expect([known.has("?a"), kept("flood")]).toEqual([false, MAX_KNOWN_QUERIES]);
  wait(1);
  known.add("?a", {});
  expect([known.has("?a"), kept("flood")]).toEqual([true, 1]);
  wait(-3_600_000);
  known.add("?b", {});
  expect([known.has("?a"), known.has("?b")]).toEqual([false, true]);
});

test("one operation does not remember the queries of another", async () => {
  const key = await grantKey();
  await expectJson(await call("/v1/pets?status=sold", { key }), 200);
  await expectError(await call("/v1/store/orders?status=sold", { key }), "invalid_request");
});

test("a remembered query gets the response of the first one, and its page the same link", async () => {
  const key = await grantKey();
  await call("/v1/pets/batch", {
    key,
    method: "POST",
    body: [1, 2, 3].map((categoryId) => ({ name: "Rex", categoryId })),
  });
  const path = "/v1/pets?limit=2&status=available&include=version&sort=-id";
  const first = await call(path, { key });
  const second = await call(path, { key });
  expect(await second.text()).toBe(await first.text());
  expect(first.headers.get("Link")).toContain("cursor=");
  expect(second.headers.get("Link")).toBe(first.headers.get("Link"));
  const [other] = (await expectJson(await call("/v1/pets?limit=1", { key }), 200)) as unknown[];
  expect(other).not.toHaveProperty("version");
});

test("a refused query is refused again", async () => {
  const key = await grantKey();
  for (const text of ["limit=0", "limit=5&staus=sold", "limit=5&=x", "limit=5&limit=5"]) {
    for (let request = 0; request < 3; request++)
      await expectError(await call(`/v1/pets?${text}`, { key }), "invalid_request");
  }
});

test("every schema of a query takes a request without one as it is", () => {
  const validators = createApp().routes.flatMap(({ handler }) => {
    const { target, schema } = handler as Partial<QueryValidator<z.ZodMiniObject>>;
    return target === "query" && schema !== undefined ? [schema()] : [];
  });
  expect(validators.length).toBeGreaterThan(4);
  for (const schema of validators) expect(schema.safeParse({})).toEqual({ success: true, data: {} });
});
