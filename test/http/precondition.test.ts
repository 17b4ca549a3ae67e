import { beforeAll, expect, test } from "vitest";
import { call, expectError } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { OPERATIONS } from "../support/operations.ts";

let key: string;
let path: string;
beforeAll(async () => {
  key = await grantKey();
  const created = await call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 1 } });
  path = created.headers.get("Location") ?? "";
});

/** A patch that changes nothing: 200 if the header matches. */
const ask = (value: string) => call(path, { method: "PATCH", key, body: {}, headers: { "If-Match": value } });

test.each(["*", '"1"', 'W/"1"', '"5","1"', '"5" , "1"', '"1", "5"', ', ,"1",', '"5",\t"a,b", W/"1"', '"ü","1"'])(
  "%s names the first version",
  async (value) => {
    expect((await ask(value)).status).toBe(200);
  },
);

// Cloudflare's edge compresses JSON for clients that accept it, and then sends `W/"1"` instead of `"1"`. A client sends back the
// tag that it received.
test("a tag that the edge has weakened still matches its version", async () => {
  const tag = (await call(path, { key })).headers.get("ETag");
  expect((await ask(`W/${tag}`)).status).toBe(200);
  await expectError(await ask('W/"2"'), "precondition_failed");
});

test.each(['"2"', 'W/"2"', '"*"', '"5", "6"', '"10"', '"é"'])("%s does not match the version", async (value) => {
  await expectError(await ask(value), "precondition_failed");
});

test.each([
  "1",
  "W/1",
  'w/"1"',
  '"1',
  '1"',
  '"1" "2"',
  '"1";"2"',
  '*, "1"',
  '"1", *',
  '"1 2"',
  ",",
  'W/ "1"',
  "'1'",
  `"${"1".repeat(1_000)}"`,
])("%s is malformed, and D1 is not asked", async (value) => {
  const { starts, DB } = observedDatabase();
  const headers = { "If-Match": value };
  const response = await call(path, { method: "PATCH", key, body: { name: "Max" }, headers, bindings: { DB } });
  expect(await expectError(response, "invalid_request")).toBe("If-Match has to be a list of entity tags, or *.");
  expect(starts).toEqual([]);
});

const CHANGES = OPERATIONS.filter(({ method }) => method === "PATCH" || method === "DELETE");

test.each(CHANGES)("$name refuses a malformed If-Match", async ({ path, request }) => {
  await expectError(await call(path, { ...request, key, headers: { "If-Match": "1" } }), "invalid_request");
});

test("If-Match is ignored by reads", async () => {
  expect((await call(path, { key, headers: { "If-Match": "1" } })).status).toBe(200);
});
