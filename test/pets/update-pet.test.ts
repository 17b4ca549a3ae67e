import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { call, create, expectError, expectJson, idOf } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";

let path: string;
let id: number;

beforeEach(async () => {
  path = await create("/v1/pets", { name: "Rex", categoryId: 7 });
  id = idOf(path);
});

const patch = (body: object | string, headers: Record<string, string> = {}) =>
  call(path, { method: "PATCH", key, body, headers });
const rex = (fields: object = {}) => ({ id, name: "Rex", categoryId: 7, status: "available", ...fields });

async function expectAnimal(fields: object, version: number): Promise<void> {
  const response = await call(path, { key });
  expect(await response.json()).toEqual(rex(fields));
  expect(response.headers.get("ETag")).toBe(`"${version}"`);
}

describe("a patch", () => {
  // Promise: a-patch-is-whole
  test.each([
    { name: "Max" },
    { categoryId: -3 },
    { status: "sold" },
    { name: "Max", categoryId: 8, status: "pending" },
  ])("changes the fields that it names, and the version: %o", async (fields) => {
    const response = await patch(fields);
    expect(await expectJson(response, 200)).toEqual(rex(fields));
    expect(response.headers.get("ETag")).toBe('"2"');
    await expectAnimal(fields, 2);
  });

  // Promise: a-patch-is-whole, versions-count-changes
  test.each([
    {},
    { name: "Max", categoryId: 7.0, status: "available" },
    '{"id": 5, "version": 9, "colour": "red", "__proto__": {"status": "sold"}}',
  ])("without other values changes nothing, and returns the animal and its version: %j", async (body) => {
    await patch({ name: "Max" });
    const response = await patch(body);
    expect(await expectJson(response, 200)).toEqual(rex({ name: "Max" }));
    expect(response.headers.get("ETag")).toBe('"2"');
  });

  // Promise: different-fields-are-kept
  test("keeps what another one changes at the same time, if it names other fields", async () => {
    const responses = await Promise.all([patch({ name: "Max" }), patch({ status: "sold" }), patch({ categoryId: 8 })]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    await expectAnimal({ name: "Max", status: "sold", categoryId: 8 }, 4);
  });

  // docs/keys.md says so. A refusal of one form would leave the others.
  test.each([{}, { name: "Rex" }, { status: "sold" }])(
    "shows the animal to a key that may only write: %o",
    async (body) => {
      const writer = await grantKey({ scopes: ["pets:write"] });
      await expectError(await call(path, { key: writer }), "insufficient_scope");
      const headers = { "Idempotency-Key": crypto.randomUUID() };
      const write = () => call(path, { method: "PATCH", key: writer, body, headers });
      expect(await expectJson(await write(), 200)).toEqual(rex(body));
      await patch({ categoryId: 8 });
      const replay = await write();
      expect(replay.headers.get("Idempotency-Replayed")).toBe("true");
      // As it was.
      expect(await expectJson(replay, 200)).toEqual(rex(body));
      expect(await expectJson(await call(path, { method: "PATCH", key: writer, body: {} }), 200)).toEqual(
        rex({ ...body, categoryId: 8 }),
      );
    },
  );

  test.each(["9007199254740993", "-9223372036854775808", "9223372036854775807"])(
    "stores the category %s exactly",
    async (categoryId) => {
      const text = `{"id":${id},"name":"Rex","categoryId":${categoryId},"status":"available"}`;
      const response = await patch(`{"categoryId": ${categoryId}}`);
      expect(await response.text()).toBe(text);
      // The current value. Rounding must not hide it.
      expect((await patch(`{"categoryId": ${categoryId}}`)).headers.get("ETag")).toBe('"2"');
      const neighbour = BigInt(categoryId) > 0n ? BigInt(categoryId) - 1n : BigInt(categoryId) + 1n;
      expect((await patch(`{"categoryId": ${neighbour}}`)).headers.get("ETag")).toBe('"3"');
    },
  );

  // Promise: a-patch-is-whole
  test.each([
    ["null", { name: null }, /^name has to be a string/],
    ["an empty name", { name: "" }, /^name has to be a string/],
    ["a category that is null", { categoryId: null }, /^categoryId has to be an integer/],
    ["a category beyond 2^63", '{"categoryId": 9223372036854775808}', /^categoryId has to be an integer/],
    ["a status that is null", { status: null }, /^status has to be one of/],
    ["an unknown status", { status: "gone" }, /^status has to be one of/],
    ["an array", "[]", /JSON object/],
    ["no body", "", /JSON body/],
  ])("cannot have %s", async (_, body, message) => {
    expect(await expectError(await patch(body), "invalid_request")).toMatch(message);
    await expectAnimal({}, 1);
  });

  // Promise: media-types
  test.each(["application/merge-patch+json", "Application/Merge-Patch+JSON; charset=utf-8", "application/json"])(
    "may be declared as %s",
    async (type) => {
      expect((await patch({ name: "Max" }, { "Content-Type": type })).status).toBe(200);
    },
  );
});

test("a patch that changes only the name keeps the category an integer in the table", async () => {
  await patch({ name: "Max" });
  const row = await env.DB.prepare("SELECT typeof(category_id) AS type, version FROM pets WHERE id = ?")
    .bind(id)
    .first();
  expect(row).toEqual({ type: "integer", version: 2 });
});
