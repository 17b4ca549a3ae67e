import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { call, expectError } from "../support/client.ts";
import configuration from "../../wrangler.toml?raw";
import { grantKey, grantToken, storeKey } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

const NO_CREDENTIALS = 'Bearer realm="petstore"';
const INVALID_TOKEN = 'Bearer realm="petstore", error="invalid_token", error_description="The API key is not valid"';

/** A rate limiter that counts the requests of each key, and never forgets them. */
function countingLimiter(limit: number): RateLimit {
  const counts = new Map<string, number>();
  return {
    limit({ key }) {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return Promise.resolve({ success: count <= limit });
    },
  };
}

/** Changes one character, so that the key has the right form and a wrong checksum. */
function mistype(key: string): string {
  return key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
}

/** The scopes that include another one. Written by hand, because the guard takes them from the service. */
const INCLUDING: { [scope: string]: string[] } = { "orders:place": ["store:write"], "orders:manage": ["store:write"] };

// test/openapi/document.test.ts asserts that every route is an operation of the document. Each has the same guard, so these two show
// that it is there, and with which scope. The rest of the guard is tested at one operation.
describe.each(OPERATIONS)("$name", ({ path, scope, scopes, outcomes, request }) => {
  // Promise: scopes-of-orders
  test("accepts a key with its scope, or with one that includes it", async () => {
    const including = INCLUDING[scope ?? ""];
    for (const granted of including === undefined ? [scopes] : [scopes, including]) {
      const response = await call(path, { ...request, key: await grantKey({ scopes: granted }) });
      expect(outcomes).toContain(response.status);
      expect(response.headers.get("Cache-Control")).toBe("private, no-store");
      expect(response.headers.get("WWW-Authenticate")).toBeNull();
    }
  });

  // Promise: keys-without-scopes
  test("refuses a request without a key, and a key without the scope", async () => {
    const response = await call(path, request);
    await expectError(response, "unauthorized");
    expect(response.headers.get("WWW-Authenticate")).toBe(NO_CREDENTIALS);
    if (scope === undefined) return;
    const including = INCLUDING[scope] ?? [];
    const others = [...SCOPES.filter((one) => one !== scope && !including.includes(one)), scope.split(":")[0] ?? ""];
    const refusal = await call(path, { ...request, key: await grantKey({ scopes: others }) });
    await expectError(refusal, "insufficient_scope");
    expect(refusal.headers.get("WWW-Authenticate")).toBe(
      `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    );
  });
});

describe.each(OPERATIONS.filter(({ name }) => name === "createPet"))("the guard of $name", (operation) => {
  const { path, scopes, outcomes, request } = operation;

  test.each(["bearer", "BEARER", "Bearer  "])("accepts the scheme %j", async (scheme) => {
    const key = await grantKey();
    const response = await call(path, { ...request, headers: { Authorization: `${scheme} ${key}` } });
    expect(outcomes).toContain(response.status);
  });

  test.each([
    undefined,
    "Basic dXNlcjpwYXNz",
    "Bearer",
    "<good key>",
    // What RFC 9110 and RFC 6750 almost allow.
    ...["", "\t", ":", "=", ",", "-", "\u00a0"].map((separator) => `Bearer${separator}<good key>`),
    ...["x", '"', "Basic,", "Bearer,", "Authorization: "].map((before) => `${before}Bearer <good key>`),
  ])("refuses the header %j with the bare challenge", async (form) => {
    const authorization = form?.replace("<good key>", await grantKey());
    const response = await call(path, {
      ...request,
      headers: authorization === undefined ? {} : { Authorization: authorization },
    });
    await expectError(response, "unauthorized");
    expect(response.headers.get("WWW-Authenticate")).toBe(NO_CREDENTIALS);
    expect(response.headers.get("Cache-Control")).toBe("private, no-store");
  });

  test("refuses every kind of bad key with the same response", async () => {
    const good = await grantKey();
    const foreign = generateKey("staging");
    await storeKey(foreign, { id: "x", name: "x", scopes, createdAt: "2026-01-01T00:00:00.000Z" });
    const corrupt = generateKey("local");
    await storeKey(corrupt, '{"id": "x", "scopes": ');
    const incomplete = generateKey("local");
    await storeKey(incomplete, { id: "x", name: "x", scopes: "pets:read pets:write" });
    const past = new Date(Date.now() - 1000).toISOString();
    const badKeys = {
      garbage: "nonsense",
      "two tokens": `${good} ${good}`,
      "a comma after it": `${good},`,
      padded: `${good}=`,
      quoted: `"${good}"`,
      "white space inside": good.replace("_", " "),
      mistyped: mistype(good),
      "of another environment": foreign,
      "of another environment, renamed": foreign.replace("staging", "local"),
      unknown: generateKey("local"),
      expired: await grantKey({ expiresAt: past }),
      revoked: await grantKey({ revokedAt: past }),
      corrupt,
      incomplete,
    };
    const messages = new Set<string>();
    for (const [kind, key] of Object.entries(badKeys)) {
      const response = await call(path, { ...request, key });
      messages.add(await expectError(response, "unauthorized"));
      expect(response.headers.get("WWW-Authenticate"), kind).toBe(INVALID_TOKEN);
      expect(response.headers.get("Cache-Control"), kind).toBe("private, no-store");
    }
    expect(messages.size).toBe(1);
  });

  test("refuses a key over its rate limit, and accepts another key", async () => {
    const bindings = { RATE_LIMITER: countingLimiter(2) };
    const key = await grantKey({ scopes });
    for (let i = 0; i < 2; i++) expect(outcomes).toContain((await call(path, { ...request, key, bindings })).status);
    const response = await call(path, { ...request, key, bindings });
    await expectError(response, "rate_limited");
    expect(response.headers.get("Retry-After")).toBe("60");
    expect(outcomes).toContain((await call(path, { ...request, key: await grantKey(), bindings })).status);
  });

  // Promise: order-of-checks
  test("checks the scope before it counts the request against the rate limit", async () => {
    const bindings = { RATE_LIMITER: countingLimiter(0) };
    const key = await grantKey({ scopes: [] });
    await expectError(await call(path, { ...request, key, bindings }), "insufficient_scope");
  });

  // Promise: faults
  test("refuses every key with 503 while KV is down", async () => {
    const down = { get: () => Promise.reject(new Error("KV GET failed: 500 Internal Server Error")) };
    const response = await call(path, {
      ...request,
      key: await grantKey(),
      bindings: { API_KEYS: down as unknown as KVNamespace },
    });
    expect(await expectError(response, "service_unavailable")).not.toContain("KV");
    expect(response.headers.get("Retry-After")).toBe("5");
  });

  // Promise: faults
  test("responds with 503 while the rate limiter is down", async () => {
    const down = { limit: () => Promise.reject(new Error("limiter gone")) };
    const response = await call(path, { ...request, key: await grantKey(), bindings: { RATE_LIMITER: down } });
    await expectError(response, "service_unavailable");
  });
});

const OF_CUSTOMERS = ["pets:read", "orders:place", "orders:own"] as const;
/**
 * The scopes of which each operation of customers needs one of a token, if any. All others refuse tokens. Written by hand, because
 * everything else takes it from the guard.
 */
const NEEDED: { [operation: string]: (typeof OF_CUSTOMERS)[number][] } = {
  listPets: ["pets:read"],
  getPet: ["pets:read"],
  listCategories: ["pets:read"],
  getCategory: ["pets:read"],
  placeOrder: ["orders:place"],
  listOrders: ["orders:own"],
  getOrder: ["orders:own"],
  cancelOrder: ["orders:own"],
  followLive: ["pets:read", "orders:own"],
  getKey: [],
};

describe.each(OPERATIONS)("$name with a customer token", ({ name, path, outcomes, request }) => {
  // Promise: operations-of-customers
  test("works, or is refused", async () => {
    const shop = await grantKey();
    const limiters = { CUSTOMER_RATE_LIMITER: countingLimiter(1_000), TOKEN_RATE_LIMITER: countingLimiter(1_000) };
    const send = async (scopes: readonly (typeof OF_CUSTOMERS)[number][], bindings = {}) =>
      call(path, { ...request, key: await grantToken(shop, { scopes, customer: crypto.randomUUID() }), bindings });
    const response = await send(OF_CUSTOMERS, limiters);
    if (!(name in NEEDED)) {
      expect(await expectError(response, "insufficient_scope")).toBe("Customer tokens cannot use this operation.");
      expect(response.headers.get("WWW-Authenticate")).toBe('Bearer realm="petstore", error="insufficient_scope"');
      // Also when its body is malformed, and before the request counts.
      const nothing = { CUSTOMER_RATE_LIMITER: countingLimiter(0), TOKEN_RATE_LIMITER: countingLimiter(0) };
      await expectError(await send(OF_CUSTOMERS, nothing), "insufficient_scope");
      return;
    }
    expect(outcomes).toContain(response.status);
    expect(response.headers.get("Cache-Control")).toBe("private, no-store");
    const { [name]: needed = [] } = NEEDED;
    if (needed.length === 0) {
      expect((await send([])).status).toBe(200);
      return;
    }
    const refusal = await send(OF_CUSTOMERS.filter((scope) => !needed.includes(scope)));
    expect(await expectError(refusal, "insufficient_scope")).toBe(`This customer token lacks the scope ${needed[0]}.`);
    expect(refusal.headers.get("WWW-Authenticate")).toBe(
      `Bearer realm="petstore", error="insufficient_scope", scope="${needed[0]}"`,
    );
    for (const scope of needed) expect(outcomes).toContain((await send([scope])).status);
  });
});

describe("the rate limits of customers", () => {
  const limits = (customer: number, tokens: number, own = 1_000) => ({
    CUSTOMER_RATE_LIMITER: countingLimiter(customer),
    TOKEN_RATE_LIMITER: countingLimiter(tokens),
    RATE_LIMITER: countingLimiter(own),
  });
  const get = (key: string, bindings: object) => call("/v1/pets?limit=1", { key, bindings });

  // Promise: limits-of-customers
  test("count each customer of a key, with any of its tokens, and not the key", async () => {
    const bindings = limits(2, 1_000, 0);
    const shop = await grantKey();
    for (let i = 0; i < 2; i++) expect((await get(await grantToken(shop), bindings)).status).toBe(200);
    const refusal = await get(await grantToken(shop), bindings);
    expect(await expectError(refusal, "rate_limited")).toBe("Too many requests of this customer. Slow down.");
    expect(refusal.headers.get("Retry-After")).toBe("60");
    expect((await get(await grantToken(shop, { customer: "bo" }), bindings)).status).toBe(200);
    expect((await get(await grantToken(await grantKey()), bindings)).status).toBe(200);
    // The limit of the key itself, which is 0 here, counts its own requests alone.
    await expectError(await get(shop, bindings), "rate_limited");
  });

  // Promise: limits-of-customers
  test("count all customers of a key together, without what a customer had refused", async () => {
    const bindings = limits(2, 4);
    const shop = await grantKey();
    const [ada, bo, cy] = await Promise.all(["ada", "bo", "cy"].map((customer) => grantToken(shop, { customer })));
    for (let i = 0; i < 5; i++) await get(ada ?? "", bindings);
    for (let i = 0; i < 2; i++) expect((await get(bo ?? "", bindings)).status).toBe(200);
    const refusal = await get(cy ?? "", bindings);
    expect(await expectError(refusal, "rate_limited")).toBe(
      "Too many requests with the tokens of this API key. Slow down.",
    );
    expect((await get(shop, bindings)).status).toBe(200);
    expect((await get(await grantToken(await grantKey()), bindings)).status).toBe(200);
  });

  // Promise: limits-of-customers
  test("the creation of tokens counts against the key", async () => {
    const bindings = limits(0, 0, 1);
    const shop = await grantKey();
    const create = () => call("/v1/key/tokens", { method: "POST", key: shop, body: { customer: "ada" }, bindings });
    expect((await create()).status).toBe(200);
    await expectError(await create(), "rate_limited");
  });

  test.each(["CUSTOMER_RATE_LIMITER", "TOKEN_RATE_LIMITER"])("it is a 503 while %s is down", async (name) => {
    const down = { limit: () => Promise.reject(new Error("limiter gone")) };
    const bindings = { ...limits(9, 9), [name]: down };
    await expectError(await get(await grantToken(await grantKey()), bindings), "service_unavailable");
  });

  test.each(["staging", "production"] as const)("of %s are those of the documentation", (environment) => {
    const limitOf = (name: string) =>
      new RegExp(
        `\\[\\[env\\.${environment}\\.ratelimits\\]\\]\nname = "${name}"\n.*\nsimple = \\{ limit = ([\\d_]+), period = 60 \\}`,
      ).exec(configuration)?.[1];
    expect([limitOf("CUSTOMER_RATE_LIMITER"), limitOf("TOKEN_RATE_LIMITER")]).toEqual(["100", "10_000"]);
  });
});

test("the rate limiter of the platform limits each key", async () => {
  const bindings = { RATE_LIMITER: env.TIGHT_RATE_LIMITER };
  const key = await grantKey();
  // Two requests a minute. A new minute may begin once during the test.
  const statuses = [];
  while (statuses.at(-1) !== 429 && statuses.length < 5) {
    statuses.push((await call("/v1/pets", { key, bindings })).status);
  }
  expect(statuses.at(-1)).toBe(429);
  expect(statuses.length).toBeGreaterThan(2);
  expect((await call("/v1/pets", { key: await grantKey(), bindings })).status).toBe(200);
});

describe("an unauthenticated caller learns nothing", () => {
  // Promise: nothing-without-a-key
  test.each(["/v1/nothing", "/%76%31/nothing", "/v1/pets/batch", "/v1/pets/1/toys", "/v1/pets/", "/v1/", "/v1"])(
    "of %s",
    async (path) => {
      await expectError(await call(path), "unauthorized");
    },
  );

  test("of wrong methods, media types or bodies", async () => {
    await expectError(await call("/v1/pets", { method: "DELETE" }), "unauthorized");
    await expectError(await call("/v1/pets", { method: "POST", body: "{" }), "unauthorized");
    await expectError(
      await call("/v1/pets", { method: "POST", body: "x", headers: { "Content-Type": "text/plain" } }),
      "unauthorized",
    );
  });
});
