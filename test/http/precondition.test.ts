import { beforeAll, describe, expect, test } from "vitest";
import { Client } from "../orders/store.ts";
import { call, create, expectError } from "../support/client.ts";
import { TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { key } from "../support/keys.ts";
import { type Fault, observedDatabase } from "../support/observed-d1.ts";
import { OPERATIONS } from "../support/operations.ts";

let path: string;
beforeAll(async () => {
  path = await create("/v1/pets", { name: "Rex", categoryId: 1 });
});

/** A patch that changes nothing: 200 if the header matches. */
const ask = (value: string) => call(path, { method: "PATCH", key, body: {}, headers: { "If-Match": value } });

// Promise: lists-of-tags
test.each([
  "*",
  '"1"',
  `"1"${",".repeat(997)}`,
  'W/"1"',
  '"5","1"',
  '"5" , "1"',
  '"1", "5"',
  ', ,"1",',
  '"5",\t"a,b", W/"1"',
  '"ü","1"',
])("%s names the first version", async (value) => {
  expect((await ask(value)).status).toBe(200);
});

// Cloudflare compresses JSON for clients that accept it, and then sends `W/"1"` for `"1"` (its cache documentation, Using ETag Headers). A
// client sends back the tag that it received.
// Promise: lists-of-tags
test("a tag that the edge has weakened still matches its version", async () => {
  const tag = (await call(path, { key })).headers.get("ETag");
  expect((await ask(`W/${tag}`)).status).toBe(200);
  await expectError(await ask('W/"2"'), "precondition_failed");
});

// Promise: if-none-match
test.each(['"2"', 'W/"2"', '"*"', '"5", "6"', '"10"', '"01"', '"é"', '"0"', '""', '"1.0"', '"9007199254740993"'])(
  "%s does not match the version",
  async (value) => {
    await expectError(await ask(value), "precondition_failed");
  },
);

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
  // 1,001 characters.
  `"1"${",".repeat(998)}`,
])("%s is malformed, and D1 is not asked", async (value) => {
  const { starts, DB } = observedDatabase();
  const headers = { "If-Match": value };
  const response = await call(path, { method: "PATCH", key, body: { name: "Max" }, headers, bindings: { DB } });
  expect(await expectError(response, "invalid_request")).toBe("If-Match has to be a list of entity tags, or *.");
  expect(starts).toEqual([]);
});

describe("If-Match and If-None-Match of one change", () => {
  /** Every kind of change, on an animal of its own in its first version. */
  async function statuses(headers: Record<string, string>): Promise<number[]> {
    const found: number[] = [];
    for (const [method, body] of [["PATCH", {}], ["PATCH", { name: "Max" }], ["DELETE"]] as const) {
      for (const more of [{}, { "Idempotency-Key": crypto.randomUUID() }]) {
        const animal = await create("/v1/pets", { name: "Rex", categoryId: 1 });
        const request = { method, key, headers: { ...headers, ...more }, ...(body === undefined ? {} : { body }) };
        found.push((await call(animal, request)).status);
      }
    }
    return found;
  }

  test.each([
    ['"1"', '"2"'],
    ['"2", "1"', 'W/"3"'],
    ["*", '"2"'],
  ])("%s and %s let the first version through", async (ifMatch, ifNoneMatch) => {
    const allowed = [200, 200, 200, 200, 204, 204];
    expect(await statuses({ "If-Match": ifMatch, "If-None-Match": ifNoneMatch })).toEqual(allowed);
  });

  // Promise: if-none-match, preconditions-are-evaluated
  test.each([
    ['"1"', '"1"'],
    ['"1"', '"2", "1"'],
    ['"1"', "*"],
    ["*", '"1"'],
    ["*", "*"],
    ['"2"', '"2"'],
    ['"2"', '"3"'],
  ])("%s and %s refuse the first version", async (ifMatch, ifNoneMatch) => {
    const refused = Array.from({ length: 6 }, () => 412);
    expect(await statuses({ "If-Match": ifMatch, "If-None-Match": ifNoneMatch })).toEqual(refused);
  });
});

describe("If-None-Match of a change", () => {
  const ask = (value: string, headers: Record<string, string> = {}) =>
    call(path, { method: "PATCH", key, body: {}, headers: { "If-None-Match": value, ...headers } });

  // Promise: lists-of-tags
  test.each(['"2"', 'W/"2"', '"é"', '"2", "3"', ', ,"2",'])("%s lets the first version through", async (value) => {
    expect((await ask(value)).status).toBe(200);
  });

  test.each(["*", '"1"', 'W/"1"', '"5", "1"'])("%s refuses the first version", async (value) => {
    await expectError(await ask(value), "precondition_failed");
    await expectError(await ask(value, { "If-Match": '"1"' }), "precondition_failed");
  });

  const message = TRANSIENT_ERRORS[0] ?? "";

  // Promise: retries-of-the-service
  test.each([
    ["cancellation", "DELETE", 204],
    ["shipment", "PATCH", 200],
  ] as const)("a %s is refused at the version that it names, and not repeated", async (_, method, success) => {
    const client = await Client.create();
    const { path: order } = await client.placeNew();
    const send = (headers: Record<string, string>, ...faults: Fault[]) =>
      method === "DELETE"
        ? client.delete(order, headers, ...faults)
        : client.patch(order, { status: "shipped" }, headers, ...faults);
    await expectError(await send({ "If-None-Match": '"1"' }), "precondition_failed");
    await expectError(await send({ "If-None-Match": "*" }), "precondition_failed");
    // A repetition would succeed.
    await expectError(await send({ "If-None-Match": '"2"' }, { when: "before", message }), "service_unavailable");
    expect(await (await client.get(order)).json()).toMatchObject({ status: "placed" });
    expect((await send({ "If-None-Match": '"2"' })).status).toBe(success);
    await expectError(await send({ "If-None-Match": '"2"' }), "precondition_failed");
    expect((await send({ "If-None-Match": '"1"' })).status).toBe(success);
    // A cancellation has a retry: it names the version that it makes.
    const retry = await send({ "If-Match": '"1"', "If-None-Match": '"9"' });
    expect(retry.status).toBe(method === "DELETE" ? success : 412);
  });
});

const CHANGES = OPERATIONS.filter(
  ({ method, template }) => (method === "PATCH" || method === "DELETE") && template.endsWith("}"),
);

describe.each(CHANGES)("$name", ({ path, request }) => {
  // Promise: lists-of-tags
  test.each(["If-Match", "If-None-Match"])("refuses a malformed %s", async (name) => {
    const response = await call(path, { ...request, key, headers: { [name]: "1" } });
    expect(await expectError(response, "invalid_request")).toBe(`${name} has to be a list of entity tags, or *.`);
  });
});

// Promise: order-of-refusals
test.each(OPERATIONS.filter(({ template }) => template.includes("{")))(
  "$name is 404 at an id of nothing, whatever the preconditions say",
  async ({ path, template, request }) => {
    for (const id of ["999999999", "-1", "x", "01", "9223372036854775808"]) {
      const nowhere = path.replace(/(?<=[/])\d+/, id);
      await expectError(await call(nowhere, { ...request, key }), "not_found");
      if (!template.endsWith("}")) continue;
      for (const headers of [{ "If-Match": '"1"' }, { "If-None-Match": "*" }])
        await expectError(await call(nowhere, { ...request, key, headers }), "not_found");
    }
  },
);

// Promise: preconditions-elsewhere
test("a creation ignores preconditions", async () => {
  for (const headers of [{ "If-Match": '"9"' }, { "If-None-Match": "*" }, { "If-Match": "x" }]) {
    expect(
      (await call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 1 }, headers })).status,
    ).toBe(201);
  }
});
