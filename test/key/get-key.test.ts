import { expect, test } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { call, expectJson } from "../support/client.ts";
import { grantKey, storeKey } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";

const RECORD = {
  id: "k1",
  name: "Läden 🐾\n",
  scopes: ["pets:read", "toys:burn"],
  createdAt: "2026-01-01T00:00:00.000Z",
};

test("describes the presented key, and nothing else of its record", async () => {
  const key = generateKey("local");
  const soon = "2099-12-31T23:30:00.5+01:00";
  await storeKey(key, { ...RECORD, expiresAt: soon, givenExpiresAt: null, replacedBy: ["k2"] });
  const response = await call("/v1/key", { key });
  expect(response.headers.get("Cache-Control")).toBe("private, no-store");
  expect(response.headers.get("ETag")).toBeNull();
  expect(await expectJson(response, 200)).toEqual({
    id: "k1",
    name: RECORD.name,
    scopes: RECORD.scopes,
    expiresAt: "2099-12-31T22:30:00.500Z",
  });
});

test("a key without an expiry has no expiresAt, and one without scopes may ask", async () => {
  const key = generateKey("local");
  await storeKey(key, { ...RECORD, scopes: [] });
  expect(await expectJson(await call("/v1/key", { key }), 200)).toEqual({ id: "k1", name: RECORD.name, scopes: [] });
});

// Promise: preconditions-elsewhere
test("it asks no database, and ignores a bookmark, preconditions and max-age", async () => {
  const key = await grantKey({ scopes: [] });
  const { starts, DB } = observedDatabase();
  const headers = { "x-d1-bookmark": "x", "If-Match": '"7"', "If-None-Match": "*", "Cache-Control": "max-age=60" };
  const response = await call("/v1/key", { key, headers, bindings: { DB } });
  expect(response.status).toBe(200);
  expect(starts).toEqual([]);
  expect(response.headers.get("x-d1-bookmark")).toBeNull();
});
