import { env } from "cloudflare:workers";
import fc from "fast-check";
import { Hono } from "hono";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { guard } from "../../src/http/guard.ts";
import type { AppEnv } from "../../src/env.ts";
import { lifecycle } from "../../src/http/lifecycle.ts";
import { json } from "../../src/http/respond.ts";
import { pets } from "../../src/pets/routes.ts";
import { call, expectError } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";

beforeAll(async () => {
  await env.DB.exec(
    "INSERT INTO pets (id, name, category_id, status) VALUES (1, 'Rex', 7, 'sold'), (3, 'Ben', 7, 'sold')",
  );
  await env.DB.exec(
    "INSERT INTO pets (id, name, category_id, status) VALUES (9223372036854775807, 'Max', -9223372036854775808, 'sold')",
  );
  await env.DB.exec("INSERT INTO pets (id, name, category_id, status) VALUES (9007199254740993, 'Odd', 1, 'sold')");
});

// Promise: ids-are-exact
test("finds ids beyond 2^53 exactly", async () => {
  const max = await call("/v1/pets/9223372036854775807", { key });
  expect(await max.text()).toBe(
    '{"id":9223372036854775807,"name":"Max","categoryId":-9223372036854775808,"status":"sold"}',
  );
  await expectError(await call("/v1/pets/9223372036854775806", { key }), "not_found");
  await expectError(await call("/v1/pets/9007199254740992", { key }), "not_found");
  expect(await (await call("/v1/pets/9007199254740993", { key })).text()).toContain('{"id":9007199254740993,');
});

test.each([
  "1.0",
  "01",
  "-0",
  "9223372036854775808",
  "-9223372036854775809",
  "18446744073709551617",
  "1%00",
  "%D9%A1",
  "%E0%A4%A",
])("%s names no animal, and D1 is not asked", async (petId) => {
  const { starts, DB } = observedDatabase();
  await expectError(await call(`/v1/pets/${petId}`, { key, bindings: { DB } }), "not_found");
  expect(starts).toEqual([]);
});

test("any text but the canonical decimal form is not found without D1", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }), async (text) => {
      fc.pre(!/^(0|-?[1-9]\d*)$/.test(text) && text !== "." && text !== "..");
      const { starts, DB } = observedDatabase();
      await expectError(await call(`/v1/pets/${encodeURIComponent(text)}`, { key, bindings: { DB } }), "not_found");
      expect(starts).toEqual([]);
    }),
  );
});

describe("every response announces the removal of the operation", () => {
  function expectDeprecation(response: Response) {
    expect(response.headers.get("Deprecation")).toBe("@1764892800");
    expect(response.headers.get("Sunset")).toBe("Thu, 05 Dec 2030 00:00:00 GMT");
    expect(response.headers.get("Link")).toBe(
      '</v1/pets>; rel="successor-version", </docs/versioning#deprecation>; rel="deprecation"',
    );
  }

  // Promise: announced-for-a-year, deprecated-responses
  test("200, 401, 403, 404, 429 and 503", async () => {
    const answers = {
      200: await call("/v1/pets/1", { key }),
      401: await call("/v1/pets/1"),
      403: await call("/v1/pets/1", { key: await grantKey({ scopes: [] }) }),
      404: await call("/v1/pets/2", { key }),
      429: await call("/v1/pets/1", {
        key,
        bindings: { RATE_LIMITER: { limit: async () => ({ success: false }) } },
      }),
      503: await call("/v1/pets/1", {
        key,
        bindings: { DB: observedDatabase({ when: "before", message: "D1_ERROR: overloaded" }).DB },
      }),
    };
    for (const [status, response] of Object.entries(answers)) {
      expect(response.status).toBe(Number(status));
      expectDeprecation(response);
    }
  });

  // Promise: the-date-removes-nothing
  test("and its date alone removes nothing", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2031-01-01T00:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    const response = await call("/v1/pets/1", { key });
    expect(response.status).toBe(200);
    expectDeprecation(response);
  });

  test("a new operation at a path that also matches /pets/{petId} does not", async () => {
    const app = new Hono<AppEnv>()
      .use(lifecycle)
      .get("/v1/pets/search", guard("pets:read"), (c) => json(c, [], 200))
      .route("/v1/pets", pets);
    const request = new Request("https://pets.example/v1/pets/search", { headers: { Authorization: `Bearer ${key}` } });
    const response = await app.fetch(request, env);
    expect(await response.json()).toEqual([]);
    expect(response.headers.get("Deprecation")).toBeNull();
  });
});
