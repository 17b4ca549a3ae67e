import { beforeAll, describe, expect, test, vi } from "vitest";
import { call, expectError, expectJson } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";
import { linesOf } from "../support/log-lines.ts";
import { observedDatabase } from "../support/observed-d1.ts";

const TOKENS = "/v1/key/tokens";
const ALL = ["pets:read", "orders:place", "orders:own"];

let key: string;
beforeAll(async () => {
  key = await grantKey();
});

const create = (body: object | string, more: Parameters<typeof call>[1] = {}) =>
  call(TOKENS, { method: "POST", key, body, ...more });
interface Token {
  token: string;
  id: string;
  expiresAt: string;
}
const created = async (body: object, more = {}) => (await expectJson(await create(body, more), 200)) as Token;
const described = async (token: string) => expectJson(await call("/v1/key", { key: token }), 200);

// Promise: tokens-of-customers
test("creates a token for a customer, which describes itself and never the key", async () => {
  const before = Date.now();
  const keyOfShop = await grantKey({ id: "k1", name: "shop in Lisbon" });
  const { DB, starts } = observedDatabase();
  const headers = { "x-d1-bookmark": "x", "Idempotency-Key": "once" };
  const response = await create({ customer: "c_8f2Kq0", name: "?" }, { key: keyOfShop, headers, bindings: { DB } });
  for (const name of ["ETag", "Location", "x-d1-bookmark", "Idempotency-Replayed"])
    expect(response.headers.get(name)).toBeNull();
  expect(response.headers.get("Cache-Control")).toBe("private, no-store");
  expect(starts).toEqual([]);
  const token = (await expectJson(response, 200)) as Token;
  expect(token).toEqual({
    token: expect.stringMatching(/^petstore_local_t_[\w-]+\.[\w-]{43}$/),
    id: expect.stringMatching(/^[\w-]+$/),
    customer: "c_8f2Kq0",
    scopes: ALL,
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
  });
  const seconds = (Date.parse(token.expiresAt) - before) / 1_000;
  expect(seconds).toBeGreaterThan(3_598);
  expect(seconds).toBeLessThan(3_610);
  expect(await described(token.token)).toEqual({
    id: "k1",
    name: "customer token",
    scopes: ALL,
    expiresAt: token.expiresAt,
    customer: "c_8f2Kq0",
  });
  // An Idempotency-Key has no effect.
  const again = await created({ customer: "c_8f2Kq0" }, { key: keyOfShop, headers });
  expect([again.token === token.token, again.id === token.id]).toEqual([false, false]);
});

// Promise: customers-are-visible-ascii
test.each([
  ["!", true],
  ["~".repeat(255), true],
  [`"'\\<>%_*;--`, true],
  ["", false],
  ["x".repeat(256), false],
  ["a b", false],
  ["é", false],
])("the customer %j is accepted: %s", async (customer, isAccepted) => {
  const response = await create({ customer });
  if (isAccepted) expect(await described((await response.json<Token>()).token)).toMatchObject({ customer });
  else
    expect(await expectError(response, "invalid_request")).toBe(
      "customer has to be a string of 1 to 255 visible ASCII characters.",
    );
});

test.each([
  ["{}", /^customer is required: a string of 1 to 255 visible ASCII characters\.$/],
  ['{"customer": null}', /^customer has to be/],
  ['{"customer": 5}', /^customer has to be/],
  ['{"customer": "a", "scopes": null}', /^scopes has to be an array of 1 to 3 of pets:read, orders:place, orders:own/],
  ['{"customer": "a", "scopes": []}', /^scopes has to be/],
  ['{"customer": "a", "scopes": "pets:read"}', /^scopes has to be/],
  ['{"customer": "a", "scopes": ["pets:read", "pets:read"]}', /^scopes has to be/],
  ['{"customer": "a", "scopes": ["pets:write"]}', /^scopes has to be/],
  ['{"customer": "a", "scopes": ["store:write"]}', /^scopes has to be/],
  ['{"customer": "a", "scopes": ["tokens:create"]}', /^scopes has to be/],
  ['{"customer": "a", "expiresIn": 59}', /^expiresIn has to be an integer from 60 to 86400\.$/],
  ['{"customer": "a", "expiresIn": 86401}', /^expiresIn has to be/],
  ['{"customer": "a", "expiresIn": 60.5}', /^expiresIn has to be/],
  ['{"customer": "a", "expiresIn": "60"}', /^expiresIn has to be/],
  ['{"customer": "a", "expiresIn": null}', /^expiresIn has to be/],
  ['{"customer": "a", "maxPlaced": 0}', /^maxPlaced has to be an integer from 1 to 100\.$/],
  ['{"customer": "a", "maxPlaced": 101}', /^maxPlaced has to be/],
  ['{"customer": "a", "maxPlaced": null}', /^maxPlaced has to be/],
])("%s is refused", async (body, message) => {
  expect(await expectError(await create(body), "invalid_request")).toMatch(message);
});

// Promise: tokens-have-what-both-have
describe("the scopes", () => {
  test.each([
    [["pets:read"], undefined, ["pets:read"]],
    [["pets:read", "orders:place", "orders:own"], undefined, ALL],
    [["store:write"], undefined, ["orders:place"]],
    [["store:read", "store:write"], undefined, ["orders:place", "orders:own"]],
    [["store:read", "orders:manage"], undefined, ["orders:own"]],
    [["pets:read", "store:write"], ["orders:place"], ["orders:place"]],
  ])("of a key with %j, asked for %j, are %j", async (of, scopes, expected) => {
    const keyOfShop = await grantKey({ scopes: ["tokens:create", ...of] });
    expect(await created({ customer: "ada", scopes }, { key: keyOfShop })).toMatchObject({ scopes: expected });
  });

  test.each([
    [["store:read", "orders:manage"], ["orders:place"], "orders:place"],
    [["orders:place"], ["orders:place", "pets:read"], "pets:read"],
    [["store:write"], ["orders:own"], "orders:own"],
    [["pets:write", "store:read", "events:read"], undefined, "pets:read"],
    [[], undefined, "pets:read"],
  ])("of a key with %j cannot be %j", async (of, scopes, lacking) => {
    const keyOfShop = await grantKey({ scopes: ["tokens:create", ...of] });
    const response = await create({ customer: "ada", scopes }, { key: keyOfShop });
    expect(await expectError(response, "insufficient_scope")).toBe(`This API key lacks the scope ${lacking}.`);
    expect(response.headers.get("WWW-Authenticate")).toContain(`scope="${lacking}"`);
  });
});

// Promise: tokens-end
test("a token ends after the seconds that were asked for, and with its key at the latest", async () => {
  const now = Math.floor(Date.now() / 1_000) * 1_000 + 500;
  vi.useFakeTimers({ now, toFake: ["Date"] });
  try {
    const endOf = async (body: object, more = {}) =>
      Date.parse((await created({ customer: "ada", ...body }, more)).expiresAt) - now;
    expect(await endOf({})).toBe(3_599_500);
    expect(await endOf({ expiresIn: 60 })).toBe(59_500);
    expect(await endOf({ expiresIn: 86_400.0 })).toBe(86_399_500);
    const soon = await grantKey({ expiresAt: new Date(now + 90_000).toISOString() });
    expect(await endOf({}, { key: soon })).toBe(89_500);
    expect(await endOf({ expiresIn: 60 }, { key: soon })).toBe(59_500);
  } finally {
    vi.useRealTimers();
  }
});

test.each([undefined, "", "x".repeat(31)])(
  "without a good secret, %j, it is a 503 and a line of error",
  async (secret) => {
    const production = await grantKey({}, "production");
    const bindings = { ENVIRONMENT: "production", ...(secret !== undefined && { TOKEN_SECRET: secret }) } as const;
    const { error } = await linesOf(async () => {
      const response = await create({ customer: "ada" }, { key: production, bindings });
      expect(await expectError(response, "service_unavailable")).not.toContain("secret");
      expect(response.headers.get("Retry-After")).toBe("5");
    });
    expect(error).toEqual([expect.objectContaining({ message: expect.stringContaining("TOKEN_SECRET") })]);
  },
);

test("the log names the key and the token, and never the customer or the token itself", async () => {
  const keyOfShop = await grantKey({ id: "k7" });
  const customer = "customer-that-nobody-may-see";
  const { token, id } = await created({ customer }, { key: keyOfShop });
  const { log, error } = await linesOf(async () => {
    await create({ customer }, { key: keyOfShop });
    for (const path of [
      "/v1/key",
      "/v1/pets",
      `/v1/store/orders?customer=${customer}`,
      "/v1/store/orders/1",
      "/v1/events",
    ])
      await call(path, { key: token });
    await call("/v1/store/orders", { method: "POST", key: token, body: { petId: 1, customer } });
  });
  expect(log).toHaveLength(7);
  expect(log.map(({ keyId, tokenId }) => [keyId, tokenId])).toEqual([
    ["k7", undefined],
    ...Array.from({ length: 6 }, () => ["k7", id]),
  ]);
  const text = JSON.stringify([log, error]);
  for (const secret of [customer, token, keyOfShop, token.slice(-20)]) expect(text).not.toContain(secret);
});
