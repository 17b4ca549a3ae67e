import { env } from "cloudflare:workers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Int64 } from "../../src/exact/int64.ts";
import { encodeCursor } from "../../src/http/cursor.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";

const create = (body: object | BodyInit, headers: Record<string, string> = {}) =>
  call("/v1/pets", { method: "POST", key, body, headers });

async function countPets(): Promise<number> {
  return (await env.DB.prepare("SELECT count(*) AS n FROM pets").first<number>("n")) ?? Number.NaN;
}

test("responds with 201, the whole animal and its address", async () => {
  const response = await create({ name: "Rex", categoryId: 7, status: "pending" });
  const animal = (await expectJson(response, 201)) as { id: number };
  expect(animal).toEqual({ id: expect.any(Number), name: "Rex", categoryId: 7, status: "pending" });
  expect(response.headers.get("Location")).toBe(`/v1/pets/${animal.id}`);
  const found = await call(`/v1/pets/${animal.id}`, { key });
  expect(await found.json()).toEqual(animal);
});

test("an id beyond 2^53 is exact in the address and in the cursor of the next page", async () => {
  // The first animal makes the row of the sequence.
  await create({ name: "Rex", categoryId: 7 });
  const { seq } = (await env.DB.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'pets'").first()) ?? {};
  onTestFinished(async () => {
    await env.DB.exec("DELETE FROM pets WHERE id > 9007199254740000");
    await env.DB.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'pets'").bind(seq).run();
  });
  await env.DB.exec("UPDATE sqlite_sequence SET seq = 9007199254740992 WHERE name = 'pets'");
  const address = "/v1/pets/9007199254740993";
  expect((await create({ name: "Rex", categoryId: 7 })).headers.get("Location")).toBe(address);
  const once = { "Idempotency-Key": crypto.randomUUID() };
  for (const _ of ["created", "replayed"])
    expect((await create({ name: "Rex", categoryId: 7 }, once)).headers.get("Location")).toBe(
      "/v1/pets/9007199254740994",
    );
  const page = await call("/v1/pets?sort=-id&limit=2", { key });
  const cursor = encodeCursor({ after: "9007199254740993" as Int64, sort: "-id" });
  expect(page.headers.get("Link")).toContain(cursor);
});

// Promise: unknown-fields-are-ignored
test("ignores unknown fields, an id among them", async () => {
  const before = await countPets();
  const response = await create(
    '{"id": 999999, "name": "Rex", "categoryId": 7, "tags": ["x"], "__proto__": {"status": "sold"}}',
  );
  const animal = (await expectJson(response, 201)) as { id: number };
  expect(animal).toEqual({ id: expect.any(Number), name: "Rex", categoryId: 7, status: "available" });
  expect(animal.id).not.toBe(999999);
  expect(response.headers.get("Ignored-Fields")).toBe('"id", "tags", "__proto__"');
  expect(await countPets()).toBe(before + 1);
});

const numbers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, i]));
// Promise: ignored-fields-are-named
test.each([
  ["nothing", {}, null],
  ["quotes and backslashes", { 'a"b\\c': 1, "": 1 }, '"a\\"b\\\\c", ""'],
  ["characters beyond ASCII", { größe: 1, "%a": 1 }, '%"gr%c3%b6%c3%9fe", "%a"'],
  ["controls", { 'a\r\nX-Other: 1\t"\\%\u007f': 1 }, '%"a%0d%0aX-Other: 1%09%22\\%25%7f"'],
  ["a lone surrogate", { "\ud83d": 1 }, '%"%ef%bf%bd"'],
  ["100 bytes", { ["x".repeat(100)]: 1 }, `"${"x".repeat(100)}"`],
  ["101 bytes", { ["x".repeat(101)]: 1 }, `"${"x".repeat(97)}..."`],
  ["a cut inside a character", { ["x".repeat(96) + "🐕"]: 1 }, `%"${"x".repeat(96)}..."`],
  [
    "twenty names",
    numbers(20),
    Object.keys(numbers(20))
      .map((name) => `"${name}"`)
      .join(", "),
  ],
  [
    "more names",
    numbers(5_000),
    Object.keys(numbers(20))
      .map((name) => `"${name}"`)
      .join(", "),
  ],
])("names the fields that it ignores: %s", async (_, more, named) => {
  const response = await create({ ...more, name: "Rex", categoryId: 7 });
  await expectJson(response, 201);
  expect(response.headers.get("Ignored-Fields")).toBe(named);
});

describe("the name", () => {
  const NAMES = {
    "one character": "x",
    "255 characters": "x".repeat(255),
    "255 characters of two UTF-16 units": "🐕".repeat(255),
    "white space around": "  Rex\t\n",
    "not normalised": "e\u0301 \u00e9 \ufb01",
    "a NUL first": "\u0000Rex",
    "controls, quotes and markup": "\u0001\u001f\"\\/<b>&'; DROP TABLE pets;--",
    "a byte order mark inside": "Rex\ufeff",
    "right to left": "\u202eRex",
    "all of Latin-1": String.fromCharCode(...Array(255).keys()),
    "the line separators of JavaScript": "\u2028\u2029Rex",
  };
  // Promise: texts-are-kept
  test.each(Object.entries(NAMES))("comes back unchanged: %s", async (_, name) => {
    const created = await create({ name, categoryId: 7 });
    const body = await created.text();
    expect(JSON.parse(body)).toMatchObject({ name });
    // The database writes the body of a creation, and JSON.stringify writes that of a GET. They have to be equal.
    expect(await (await call(created.headers.get("Location") ?? "", { key })).text()).toBe(body);
  });

  // Promise: texts-are-kept
  test.each([
    ["missing", {}],
    ["null", { name: null }],
    ["a number", { name: 5 }],
    ["an object", { name: {} }],
    ["empty", { name: "" }],
    ["256 characters", { name: "x".repeat(256) }],
    ["256 characters of two UTF-16 units", { name: "🐕".repeat(256) }],
    ["only spaces", { name: "   " }],
    // JSON.stringify writes them as escapes.
    ["a lone surrogate", { name: "\ud800" }],
    ["a lone surrogate after others", { name: "Rex \udc00" }],
    ["surrogates in the wrong order", { name: "\ude00\ud83d" }],
    ["only other white space", { name: "\t\n\u00a0\u2003\u3000\u0085\u2028\ufeff" }],
  ])("cannot be %s", async (_, fields) => {
    const before = await countPets();
    const message = await expectError(await create({ categoryId: 7, ...fields }), "invalid_request");
    expect(message).toMatch(
      /^name (is required:|has to be) a string of 1 to 255 well-formed characters, not only white space\.$/,
    );
    expect(await countPets()).toBe(before);
  });
});

describe("the categoryId", () => {
  // Promise: inexact-numbers-are-refused
  test.each([
    ["0", "0"],
    ["-0", "0"],
    ["1.0", "1"],
    ["1e3", "1000"],
    ["1E+3", "1000"],
    ["1200e-2", "12"],
    ["9007199254740991", "9007199254740991"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["99999999999999.0e0", "99999999999999"],
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
    [`1${"0".repeat(400)}e-400`, "1"],
  ])("%s is exactly the integer %s", async (sent, stored) => {
    const response = await create(`{"name": "Rex", "categoryId": ${sent}}`);
    expect(response.status).toBe(201);
    const text = await response.text();
    expect(text).toMatch(new RegExp(`"categoryId":${stored},`));
    const path = response.headers.get("Location") ?? "";
    expect(await (await call(path, { key })).text()).toBe(text);
  });

  // Promise: inexact-numbers-are-refused
  test.each([
    "null",
    "true",
    '"5"',
    "[5]",
    "{}",
    "1.5",
    "1e-1",
    "1.00000000000000000001",
    "9223372036854775808",
    "-9223372036854775809",
    // JSON.parse reads it as 0.
    "1e-400",
    "1e-99999999999999999999",
    "123456789012345678901234567890",
  ])("cannot be %s", async (categoryId) => {
    const before = await countPets();
    const message = await expectError(await create(`{"name": "Rex", "categoryId": ${categoryId}}`), "invalid_request");
    expect(message).toBe("categoryId has to be an integer from -2^63 to 2^63 - 1.");
    expect(await countPets()).toBe(before);
  });
});

test.each(['"Sold"', '"gone"', '""', "null", "1", '["sold"]'])("the status cannot be %s", async (status) => {
  const message = await expectError(
    await create(`{"name": "Rex", "categoryId": 7, "status": ${status}}`),
    "invalid_request",
  );
  expect(message).toBe("status has to be one of available, pending, sold.");
});

describe("the body", () => {
  test.each([
    "",
    " ",
    "{",
    '{"name": "Rex", "categoryId": 7,}',
    "{'name': 'Rex'}",
    "NaN",
    '{"name": "\u0001", "categoryId": 7}',
  ])("cannot be malformed JSON: %j", async (body) => {
    const message = await expectError(await create(body), "invalid_request");
    expect(message).toMatch(/JSON/);
  });

  test.each(["[]", "null", '"Rex"', "5", "true", '[{"name": "Rex", "categoryId": 7}]'])(
    "cannot be JSON that is not an object: %s",
    async (body) => {
      expect(await expectError(await create(body), "invalid_request")).toBe(
        "The request body has to be a JSON object.",
      );
    },
  );

  test("cannot be invalid UTF-8", async () => {
    const bytes = new TextEncoder().encode('{"name": "R?x", "categoryId": 7}');
    bytes[bytes.indexOf("?".charCodeAt(0))] = 0xff;
    expect(await expectError(await create(bytes), "invalid_request")).toMatch(/UTF-8/);
  });

  test.each(["[".repeat(60_000), `${'{"a":'.repeat(10_000)}1.5`])("may not be nested without an end", async (body) => {
    await expectError(await create(body), "invalid_request");
  });

  test("may be nested up to its maximum length, together with an integer that JSON.parse would round", async () => {
    const nested = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;
    const response = await create(`{"x": ${nested}, "name": "Rex", "categoryId": 9223372036854775807}`);
    expect(response.status).toBe(201);
    expect(await response.text()).toContain('"categoryId":9223372036854775807,');
  });

  test("is not an object when it is an integer that JSON.parse would round", async () => {
    expect(await expectError(await create("9223372036854775807"), "invalid_request")).toMatch(/a JSON object/);
  });

  test("with a very long number is read quickly", async () => {
    const zeros = `0.${"0".repeat(65_000)}1`;
    await expectError(await create(`{"name": "Rex", "categoryId": ${zeros}}`), "invalid_request");
  });

  // Promise: charset-is-ignored, media-types
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON;charset=UTF-8",
    "application/json ; x=y",
    "application/json;",
    "application/json; charset=utf-16",
  ])("may be declared as %s", async (type) => {
    const response = await create({ name: "Émile", categoryId: 7 }, { "Content-Type": type });
    expect(await expectJson(response, 201)).toMatchObject({ name: "Émile" });
  });

  test.each([
    "text/plain",
    "application/jsonp",
    "application/merge-patch+json",
    "application/json, text/plain",
    "application/x-www-form-urlencoded",
    "json",
    "",
  ])("cannot be declared as %j", async (type) => {
    await expectError(await create({ name: "Rex", categoryId: 7 }, { "Content-Type": type }), "unsupported_media_type");
  });

  test("cannot be missing", async () => {
    await expectError(await call("/v1/pets", { method: "POST", key }), "invalid_request");
  });
});

// Promise: order-of-checks
test("checks the rate limit before the media type, and the size before the bookmark", async () => {
  const bookmark = { "x-d1-bookmark": "nonsense" };
  const bindings = { RATE_LIMITER: { limit: async () => ({ success: false }) } };
  const headers = { "Content-Type": "text/plain", ...bookmark };
  await expectError(await call("/v1/pets", { method: "POST", key, body: "x", headers, bindings }), "rate_limited");
  await expectError(await call("/v1/pets", { method: "POST", key, body: "x", headers }), "unsupported_media_type");
  const body = "x".repeat(70_000);
  await expectError(await call("/v1/pets", { method: "POST", key, body, headers: bookmark }), "payload_too_large");
});

test("the table refuses rows that break the rules", async () => {
  const insert = env.DB.prepare("INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?)");
  for (const row of [
    ["", 1, "sold"],
    ["x".repeat(1_021), 1, "sold"],
    [new Uint8Array([120]), 1, "sold"],
    ["Rex", 1.5, "sold"],
    ["Rex", "9223372036854775808", "sold"],
    ["Rex", "seven", "sold"],
    ["Rex", 1, "gone"],
  ]) {
    await expect(insert.bind(...row).run(), row.join()).rejects.toThrow(/CHECK constraint failed/);
  }
});

test("a row that the table refuses is a bug: 500, and nothing is stored", async () => {
  const before = await countPets();
  await env.DB.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON pets BEGIN SELECT RAISE(ABORT, 'a rule that the service does not know'); END",
  );
  await expectError(await create({ name: "Rex", categoryId: 7 }), "internal_error");
  await env.DB.exec("DROP TRIGGER refuse");
  expect(await countPets()).toBe(before);
});

test("clients never see a column that the shape does not name", async () => {
  await env.DB.exec("ALTER TABLE pets ADD COLUMN cost TEXT DEFAULT 'secret'");
  onTestFinished(async () => {
    await env.DB.exec("ALTER TABLE pets DROP COLUMN cost");
  });
  const all = await grantKey({ scopes: ["pets:read", "pets:write", "events:read"] });
  const post = { method: "POST", key: all, body: { name: "Rex", categoryId: 1 } };
  const created = await call("/v1/pets", { ...post, headers: { "Idempotency-Key": crypto.randomUUID() } });
  const path = created.headers.get("Location") ?? "";
  const responses = [
    created,
    await call("/v1/pets/batch", { ...post, body: [post.body] }),
    await call(path, { method: "PATCH", key: all, body: { name: "Max" } }),
    await call(path, { key: all }),
    await call("/v1/pets?sort=-id&include=version", { key: all }),
    await call("/v1/events", { key: all }),
  ];
  for (const response of responses) {
    expect(response.ok).toBe(true);
    expect(await response.text()).not.toContain("secret");
  }
});
