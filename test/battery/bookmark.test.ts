import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { call, expectError } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { OPERATIONS } from "../support/operations.ts";

const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

// An operation that responds from memory asks the database again a minute later.
let now = Date.now();
beforeEach(() => {
  now += 60_000;
  vi.useFakeTimers({ now, toFake: ["Date"] });
});
afterAll(() => {
  vi.useRealTimers();
});

/** Reads that store what they read, for all isolates. */
const STORED = ["getInventory"];
const reads = (name: string, method: string) => method === "GET" && !STORED.includes(name);

describe.each(OPERATIONS.filter(({ usesDatabase }) => usesDatabase))(
  "$name",
  ({ name, path, outcomes, method, request }) => {
    // Promise: responses-have-bookmarks
    test("returns a bookmark if it used the database", async () => {
      const response = await call(path, { ...request, key });
      expect(response.headers.get("x-d1-bookmark")).toMatch(BOOKMARK);
      expect((await call(path, request)).headers.get("x-d1-bookmark")).toBeNull();
    });

    test("accepts the bookmark of an earlier response", async () => {
      const bookmark = (await call("/v1/pets", { key })).headers.get("x-d1-bookmark") ?? "";
      const { starts, DB } = observedDatabase();
      const response = await call(path, { ...request, key, headers: { "x-d1-bookmark": bookmark }, bindings: { DB } });
      expect(outcomes).toContain(response.status);
      // A write goes to the primary, which is always up to date.
      expect(starts).toEqual([reads(name, method) ? bookmark : "first-primary"]);
    });

    // Promise: bookmarks-move-forward
    test("refuses a malformed bookmark, and D1 is not asked", async () => {
      const { starts, DB } = observedDatabase();
      const response = await call(path, { ...request, key, headers: { "x-d1-bookmark": "x" }, bindings: { DB } });
      expect(await expectError(response, "invalid_request")).toMatch(/^x-d1-bookmark /);
      expect(starts).toEqual([]);
    });
  },
);

const READS = OPERATIONS.filter(({ name, method, usesDatabase }) => usesDatabase && reads(name, method));

// A release migrates the primary, and deploys at once.
describe.each(READS)("$name, on a replica that has not every migration,", ({ path, outcomes, request }) => {
  test.each(["no such table: pets: SQLITE_ERROR", "no such column: pets.version at offset 12: SQLITE_ERROR"])(
    "is repeated once on the primary, and logged: %s",
    async (message) => {
      const log = vi.spyOn(console, "log").mockImplementation(() => {});
      const bookmark = (await call("/v1/pets", { key })).headers.get("x-d1-bookmark") ?? "";
      for (const headers of [{}, { "x-d1-bookmark": bookmark }]) {
        const fault = { when: "before", message: `D1_ERROR: ${message}` } as const;
        const once = observedDatabase(fault);
        const response = await call(path, { ...request, key, headers, bindings: { DB: once.DB } });
        expect(outcomes).toContain(response.status);
        expect(response.headers.get("x-d1-bookmark")).toMatch(BOOKMARK);
        expect(once.roundTrips()).toBe(2);
        expect(once.starts).toEqual([headers["x-d1-bookmark"] ?? "first-unconstrained", "first-primary"]);
        expect(JSON.parse(log.mock.lastCall?.[0])).toMatchObject({ d1Repeated: true });
        const twice = observedDatabase(fault, fault);
        await expectError(await call(path, { ...request, key, bindings: { DB: twice.DB } }), "service_unavailable");
        expect(twice.roundTrips()).toBe(2);
      }
      log.mockRestore();
    },
  );

  test("names the table of each column: without it, SQLite takes a missing column for a text", async () => {
    const { statements, DB } = observedDatabase();
    await call(path, { ...request, key, bindings: { DB } });
    for (const { sql } of statements)
      expect(sql.replaceAll(/"\w+"\."\w+"|(?:as|from|join) "\w+"/gi, "")).not.toContain('"');
  });
});

// The other operations open their sessions in the same two functions.
const EXAMPLES = ["listPets", "createPet", "getInventory"];
describe.each(OPERATIONS.filter(({ name }) => EXAMPLES.includes(name)))(
  "$name",
  ({ name, path, outcomes, method, request }) => {
    // Promise: nearest-replica
    test("without a bookmark, reads from the nearest replica and writes to the primary", async () => {
      const { starts, DB } = observedDatabase();
      await call(path, { ...request, key, bindings: { DB } });
      expect(starts).toEqual([reads(name, method) ? "first-unconstrained" : "first-primary"]);
    });

    test("reads from the primary while the operator says so, with a bookmark and without one", async () => {
      const bookmark = (await call("/v1/pets", { key })).headers.get("x-d1-bookmark") ?? "";
      for (const headers of [{}, { "x-d1-bookmark": bookmark }]) {
        vi.setSystemTime((now += 60_000));
        const { starts, DB } = observedDatabase();
        const bindings = { DB, READS: "primary" } as unknown as Partial<Env>;
        const response = await call(path, { ...request, key, headers, bindings });
        expect(outcomes).toContain(response.status);
        expect(starts).toEqual(["first-primary"]);
      }
    });

    // Promise: bookmarks-are-true
    test.each([
      "",
      "first-primary",
      "first-unconstrained",
      "00000000-00000000-00000000",
      "00000000-00000000-00000000-0000000000000000000000000000000g",
      "00000000-00000000-00000000-00000000000000000000000000000000, 00000000-00000000-00000000-00000000000000000000000000000000",
      "00000085-0000024C-00004C6D-8E61117BF38D7ADB71B934EBBF891683",
    ])("refuses the bookmark %j, and D1 is not asked", async (bookmark) => {
      const { starts, DB } = observedDatabase();
      const response = await call(path, { ...request, key, headers: { "x-d1-bookmark": bookmark }, bindings: { DB } });
      expect(await expectError(response, "invalid_request")).toMatch(/^x-d1-bookmark /);
      expect(starts).toEqual([]);
    });
  },
);

// Promise: bookmarks-are-true
test("the bookmark of a creation makes the animal visible to the next read", async () => {
  const created = await call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 1 } });
  const bookmark = created.headers.get("x-d1-bookmark") ?? "";
  const found = await call(created.headers.get("Location") ?? "", { key, headers: { "x-d1-bookmark": bookmark } });
  expect(await found.json()).toEqual(await created.json());
  expect((found.headers.get("x-d1-bookmark") ?? "") >= bookmark).toBe(true);
});
