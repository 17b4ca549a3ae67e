import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { MAX_TOKEN_LENGTH, MAX_VERIFIED_TOKENS, MIN_SECRET_LENGTH } from "../../src/auth/token.ts";
import { sha256 } from "../../src/hash/sha256.ts";
import { LOCAL_TOKEN_SECRET } from "../../src/local-api-key.ts";
import { type Call, call, expectError } from "../support/client.ts";
import { grantKey, grantToken, storeKey } from "../support/keys.ts";

const INVALID = 'Bearer realm="petstore", error="invalid_token", error_description="The API key is not valid"';
const SECRET = "x".repeat(MIN_SECRET_LENGTH);

const ask = (token: string, bindings: Call["bindings"] = {}, path = "/v1/key") => call(path, { key: token, bindings });
const statusOf = async (token: string, bindings: Call["bindings"] = {}) => (await ask(token, bindings)).status;

/** Sends a token and asserts that it is refused like any bad key, before KV is read. */
async function expectForged(token: string, bindings: Call["bindings"] = {}): Promise<void> {
  const get = vi.fn<KVNamespace["get"]>();
  const response = await ask(token, { API_KEYS: { get } as unknown as KVNamespace, ...bindings });
  expect(await expectError(response, "unauthorized"), token).toBe("The API key is not valid.");
  expect(response.headers.get("WWW-Authenticate")).toBe(INVALID);
  expect(response.headers.get("Cache-Control")).toBe("private, no-store");
  expect(get, token).not.toHaveBeenCalled();
}

const utf8 = new TextEncoder();
const base64url = (bytes: Uint8Array) => bytes.toBase64({ alphabet: "base64url", omitPadding: true });
const signed = (token: string) => token.slice(0, token.lastIndexOf("."));
const macOf = (token: string) => token.slice(token.lastIndexOf(".") + 1);

/** A MAC of a text, as an attacker or another version makes it. */
async function mac(text: string, secret = LOCAL_TOKEN_SECRET, hash = "SHA-256"): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(text)));
}
const sealed = async (payload: unknown, prefix = "petstore_local_t_") => {
  const text = prefix + base64url(utf8.encode(JSON.stringify(payload)));
  return `${text}.${base64url(await mac(text))}`;
};

let now = Date.now();
beforeEach(() => {
  now = Math.floor(now / 1_000) * 1_000 + 120_000;
  vi.useFakeTimers({ now, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("a token has the documented form, and the longest fits", async () => {
  const key = await grantKey({}, "production");
  const token = await grantToken(key, { customer: "\\".repeat(255), maxPlaced: 100 }, SECRET, "production");
  expect(token).toMatch(/^petstore_production_t_[\w-]+\.[\w-]{43}$/);
  expect(token.length).toBeLessThanOrEqual(MAX_TOKEN_LENGTH);
  const bindings = { ENVIRONMENT: "production", TOKEN_SECRET: SECRET } as const;
  expect(await (await ask(token, bindings)).json()).toMatchObject({ customer: "\\".repeat(255) });
  await expectForged(`${token}${"A".repeat(MAX_TOKEN_LENGTH)}`, bindings);
});

// Promise: forged-tokens
describe("is refused without a read of KV", () => {
  test("a good token with any one character changed", async () => {
    const token = await grantToken(await grantKey());
    expect(await statusOf(token)).toBe(200);
    for (let place = 0; place < token.length; place++) {
      const other = "Aw_."[place % 4] === token[place] ? "Q" : "Aw_."[place % 4];
      await expectForged(token.slice(0, place) + other + token.slice(place + 1));
    }
  });

  test("a good token with a character less or more at any place", async () => {
    const token = await grantToken(await grantKey());
    for (let place = 0; place < token.length; place++)
      await expectForged(token.slice(0, place) + (place % 2 ? "" : "A") + token.slice(place + (place % 2)));
  });

  // The last character of a MAC has four bits, so four characters stand for the same bytes.
  test("every other spelling of the same bytes", async () => {
    const key = await grantKey();
    for (const claims of [{ customer: "ad" }, { customer: "adam" }]) {
      const token = await grantToken(key, claims);
      expect(await statusOf(token)).toBe(200);
      const others = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
      for (const end of others) if (!token.endsWith(end)) await expectForged(token.slice(0, -1) + end);
      for (const end of ["=", "==", "A", "AA", " ", "\t", ".", `.${macOf(token)}`]) {
        // White space at the end of a header is no part of it.
        if (end.trim() !== "") await expectForged(token + end);
        await expectForged(signed(token) + end + token.slice(signed(token).length));
      }
      const spelt = (text: string) => text.replaceAll("-", "+").replaceAll("_", "/");
      if (spelt(macOf(token)) !== macOf(token)) await expectForged(`${signed(token)}.${spelt(macOf(token))}`);
      await expectForged(encodeURIComponent(token).replaceAll("_", "%5F"));
      await expectForged(token.toUpperCase());
      await expectForged(token.toLowerCase());
    }
  });

  test("a token that was signed with anything else", async () => {
    const token = await grantToken(await grantKey());
    const text = signed(token);
    const macs = [
      await mac(text, SECRET),
      await mac(text, " "),
      await mac(text, LOCAL_TOKEN_SECRET, "SHA-1"),
      await mac(text, LOCAL_TOKEN_SECRET, "SHA-512"),
      (await mac(text, LOCAL_TOKEN_SECRET, "SHA-512")).slice(0, 32),
      (await mac(text)).slice(0, 16),
      new Uint8Array(await crypto.subtle.digest("SHA-256", utf8.encode(text))),
      await mac(text.slice("petstore_local_t_".length)),
      await mac(`${text}.`),
      new Uint8Array(),
      new Uint8Array(32),
    ];
    for (const bytes of macs) await expectForged(`${text}.${base64url(bytes)}`);
    await expectForged(text);
  });

  test("the payload of one token with the MAC of another, and another payload", async () => {
    const key = await grantKey();
    const [mine, theirs] = [await grantToken(key), await grantToken(key, { customer: "bo" })];
    await expectForged(`${signed(theirs)}.${macOf(mine)}`);
    const payload = JSON.parse(
      new TextDecoder().decode(Uint8Array.fromBase64(signed(mine).slice(17), { alphabet: "base64url" })),
    );
    for (const [place, value] of [
      [2, 9_999_999_999],
      [3, ["store:write"]],
      [4, "bo"],
      [5, 1_000],
    ] as const) {
      const changed = payload.toSpliced(place, 1, value);
      await expectForged(`petstore_local_t_${base64url(utf8.encode(JSON.stringify(changed)))}.${macOf(mine)}`);
    }
  });

  test("a token of another environment, also one that was signed with the same secret, and one renamed", async () => {
    const key = await grantKey();
    for (const environment of ["staging", "production"] as const) {
      const foreign = await grantToken(key, {}, LOCAL_TOKEN_SECRET, environment);
      await expectForged(foreign);
      await expectForged(foreign.replace(environment, "local"));
    }
    const local = await grantToken(key);
    const production = { ENVIRONMENT: "production", TOKEN_SECRET: LOCAL_TOKEN_SECRET } as const;
    await expectForged(local, production);
    await expectForged(local.replace("local", "production"), production);
  });

  test("a token in the place of a key, and a key in the place of a token", async () => {
    const key = await grantKey();
    const token = await grantToken(key);
    await expectForged(key.replace("petstore_local_", "petstore_local_t_"));
    await expectForged(`${key}.${macOf(token)}`);
    await expectForged(token.replace("_t_", "_"));
    await expectForged(token.replace("_t_", "_T_"));
    await expectForged(await sealed(JSON.parse("[]"), "petstore_local_"));
  });

  test("an expired token, to the second, also one that was good before", async () => {
    const token = await grantToken(await grantKey(), { expiresAt: now / 1_000 + 60 });
    vi.setSystemTime(now + 59_999);
    expect(await statusOf(token)).toBe(200);
    vi.setSystemTime(now + 60_000);
    await expectForged(token);
    await expectForged(await grantToken(await grantKey(), { expiresAt: now / 1_000 }));
  });

  test("a token whose payload has more parts than this version knows, or fewer", async () => {
    const parts = [await sha256(await grantKey()), "id", now / 1_000 + 60, ["pets:read"], "ada", 10];
    expect(await statusOf(await sealed(parts))).toBe(200);
    await expectForged(await sealed([...parts, "only on Mondays"]));
    await expectForged(await sealed(parts.slice(0, 5)));
  });
});

// Promise: tokens-end-with-their-key
test.each([
  ["revoked", (record: object) => ({ ...record, revokedAt: "2026-01-02T00:00:00.000Z" })],
  ["expired", (record: object) => ({ ...record, expiresAt: "2026-01-02T00:00:00.000Z" })],
  ["without tokens:create", (record: object) => ({ ...record, scopes: ["pets:read", "orders:place"] })],
  ["corrupt", () => "{"],
  ["deleted", () => undefined],
])("a token is refused while its key is %s", async (_, change) => {
  const key = await grantKey();
  const token = await grantToken(key, { expiresAt: now / 1_000 + 3_600 });
  expect(await statusOf(token)).toBe(200);
  const record = await env.API_KEYS.get<object>(await keyRecordName(key), "json");
  const changed = change(record ?? {});
  if (changed === undefined) await env.API_KEYS.delete(await keyRecordName(key));
  else await storeKey(key, changed);
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.setSystemTime(now + 30_000);
  const response = await ask(token);
  expect(await expectError(response, "unauthorized")).toBe("The API key is not valid.");
  expect(response.headers.get("WWW-Authenticate")).toBe(INVALID);
});

test("a token of an unknown key costs one read in 5 seconds, and of a good key one in 30", async () => {
  const get = vi.spyOn(env.API_KEYS, "get");
  const unknown = await grantToken(generateKey("local"), { expiresAt: now / 1_000 + 60 });
  for (let i = 0; i < 3; i++) expect(await statusOf(unknown)).toBe(401);
  expect(get).toHaveBeenCalledTimes(1);
  const key = await grantKey();
  for (const customer of ["ada", "bo", "cy"]) expect(await statusOf(await grantToken(key, { customer }))).toBe(200);
  expect(get).toHaveBeenCalledTimes(2);
  vi.setSystemTime(now + 30_000);
  expect(await statusOf(await grantToken(key))).toBe(200);
  expect(get).toHaveBeenCalledTimes(3);
});

// Promise: faults
test("a token gets a 503 while KV is down, and a forged one still a 401", async () => {
  const down = { API_KEYS: { get: () => Promise.reject(new Error("KV GET failed")) } as unknown as KVNamespace };
  const token = await grantToken(await grantKey());
  await expectError(await ask(token, down), "service_unavailable");
  await expectForged(`${signed(token)}.${base64url(new Uint8Array(32))}`);
});

// Promise: tokens-have-what-both-have
test("a token has the scopes that it and its key both have", async () => {
  const scopesOf = async (scopes: string[], of: ("pets:read" | "orders:place" | "orders:own")[]) => {
    const token = await grantToken(await grantKey({ scopes: ["tokens:create", ...scopes] }), { scopes: of });
    return (await (await ask(token)).json<{ scopes: string[] }>()).scopes;
  };
  const ALL = ["pets:read", "orders:place", "orders:own"] as const;
  expect(await scopesOf([], [...ALL])).toEqual([]);
  expect(await scopesOf([...ALL], ["pets:read"])).toEqual(["pets:read"]);
  expect(await scopesOf(["pets:read", "pets:write", "events:read"], [...ALL])).toEqual(["pets:read"]);
  expect(await scopesOf(["store:write"], [...ALL])).toEqual(["orders:place"]);
  expect(await scopesOf(["store:read"], [...ALL])).toEqual([]);
  expect(await scopesOf(["orders:manage"], [...ALL])).toEqual([]);
  expect(await scopesOf(["store:read", "orders:manage"], [...ALL])).toEqual(["orders:own"]);
  expect(await scopesOf(["store:read", "store:write"], [...ALL])).toEqual(["orders:place", "orders:own"]);
  expect(await scopesOf(["store:read", "orders:place"], [...ALL])).toEqual(["orders:place"]);
});

describe("the secret", () => {
  // Promise: secret-ends-all-tokens
  test("ends all tokens when it is replaced", async () => {
    const key = await grantKey();
    const before = await grantToken(key);
    expect(await statusOf(before)).toBe(200);
    await expectForged(before, { TOKEN_SECRET: SECRET });
    const after = await grantToken(key, {}, SECRET);
    expect(await statusOf(after, { TOKEN_SECRET: SECRET })).toBe(200);
    await expectForged(after);
    expect(await statusOf(before)).toBe(200);
  });

  test.each([
    ["missing", { ENVIRONMENT: "production" }],
    ["empty", { ENVIRONMENT: "production", TOKEN_SECRET: "" }],
    ["too short", { ENVIRONMENT: "production", TOKEN_SECRET: SECRET.slice(1) }],
  ] as const)("that is %s accepts no token, not even of the public secret", async (_, bindings) => {
    const key = await grantKey({}, "production");
    for (const secret of [LOCAL_TOKEN_SECRET, SECRET.slice(1), SECRET]) {
      await expectForged(await grantToken(key, {}, secret, "production"), bindings);
    }
    expect((await call("/v1/key", { key, bindings })).status).toBe(200);
  });
});

test("an isolate remembers the tokens that it verified, and no forged one makes it forget them", async () => {
  const key = await grantKey();
  const token = await grantToken(key);
  const verify = vi.spyOn(crypto.subtle, "verify");
  for (let i = 0; i < 3; i++) expect(await statusOf(token)).toBe(200);
  expect(verify).toHaveBeenCalledTimes(1);
  for (let i = 0; i <= MAX_VERIFIED_TOKENS; i++) await statusOf(`${signed(token)}${i}.${macOf(token)}`);
  verify.mockClear();
  expect(await statusOf(token)).toBe(200);
  expect(verify).not.toHaveBeenCalled();
});
