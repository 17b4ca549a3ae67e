import * as fc from "fast-check";
import { TrieRouter } from "hono/router/trie-router";
import { expect, test } from "vitest";
import { createApp } from "../../src/app.ts";
import { Router } from "../../src/operation.ts";

const { routes } = createApp();
const parts = [...new Set(routes.flatMap(({ path }) => path.split("/").slice(1)))];
const [ours, theirs] = [new Router<number>(), new TrieRouter<number>()];
for (const [index, { method, path }] of routes.entries())
  for (const router of [ours, theirs]) router.add(method, path, index);

test("a path has the handlers and the parameters that Hono finds, also when others were found before", () => {
  const part = fc.oneof(
    fc.constantFrom(...parts),
    fc.constantFrom("", "1", "2", "*", "petId"),
    fc.string({ maxLength: 3 }),
  );
  // Most paths begin as those of the interface.
  const path = fc
    .tuple(
      fc.constantFrom("/v1/pets", "/v1/store/orders", "/v1/webhooks", "/v1", "/docs", ""),
      fc.array(part, { maxLength: 3 }),
    )
    .map(([begin, more]) => [begin, ...more].join("/") || "/");
  const method = fc.constantFrom("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS");
  fc.assert(
    fc.property(method, path, (method, path) => {
      expect(ours.match(method, path)).toEqual(theirs.match(method, path));
    }),
    { numRuns: 4_000 },
  );
});

test("two names for the last parameter of a path are refused", () => {
  const router = new Router<number>();
  router.add("GET", "/pets/:petId", 1);
  router.add("DELETE", "/pets/:id", 2);
  expect(() => router.match("GET", "/pets/1")).toThrow("two names");
});
