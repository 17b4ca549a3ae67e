// Each field that a resource may lack, and each large integer, in every operation that writes it. The document has an example of each.
import { env } from "cloudflare:workers";
import type { SchemaObject } from "openapi3-ts/oas31";
import { describe, expect, test } from "vitest";
import { ROWS } from "../../register/operations.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { rawJSON } from "../../src/exact/json.ts";
import { latest, since } from "../events/feed.ts";
import { refusalOf, resultOf } from "../support/agents.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

interface Fields {
  [field: string]: SchemaObject;
}
const schemas = document.components.schemas as unknown as {
  [name: string]: { properties?: Fields; items?: { $ref: string } };
};
const paths = document.paths as unknown as {
  [path: string]: { [method: string]: { requestBody?: { content: { [type: string]: { schema: { $ref: string } } } } } };
};

const named = ({ $ref } = { $ref: "" }) => schemas[$ref.split("/").at(-1) ?? ""];

/** The fields of the body of an operation, or of its items. */
function fieldsOf(path: string, method: string): Fields {
  const [body] = Object.values(paths[path]?.[method]?.requestBody?.content ?? {});
  const schema = named(body?.schema);
  return (schema?.items === undefined ? schema : named(schema.items))?.properties ?? {};
}

const send = (method: string, path: string, body?: object) =>
  call(path, { method, key, ...(body === undefined ? {} : { body }) });

/** The fields that a creation takes and a null in a patch removes. */
const FIELDS = OPERATIONS.flatMap(({ name, method, path }) => {
  const collection = path.slice("/v1".length);
  const item = Object.keys(paths).find((one) => /^\/\{\w+\}$/.test(one.replace(collection, ""))) ?? "";
  const created = method === "POST" ? fieldsOf(collection, "post") : {};
  const changed = fieldsOf(item, "patch");
  return Object.entries(created)
    .filter(([field]) => [changed[field]?.type].flat().includes("null"))
    .map(([field, { examples = [], maxLength }]) => ({ name, path, field, value: examples[0] as unknown, maxLength }));
});

test("the optional fields of the resources are among them", () =>
  expect(FIELDS.map(({ name, field }) => `${name} ${field}`)).toEqual(
    expect.arrayContaining(["createCategory description", "createPet externalId", "placeOrder reference"]),
  ));

describe.each(FIELDS)("$name: $field", ({ name, path, field, value, maxLength }) => {
  const [once] = ROWS[name].once ?? [];
  const creation = async () => {
    const request = await once?.prepare({ send, run: (sql) => env.DB.exec(sql) });
    return { ...request?.body, [field]: value };
  };

  // Promise: a-patch-is-whole, external-ids-are-in-events
  test("every response has it, and a null removes it", async () => {
    // Another test may have used the value, which may be unique.
    await env.DB.exec("UPDATE pets SET external_id = NULL");
    const body = await creation();
    const cursor = await latest(key);
    const response = await send("POST", path, body);
    const item = response.headers.get("Location") ?? "";
    const whole = (await expectJson(response, 201)) as { id: number };
    expect(whole).toMatchObject({ [field]: value });
    const rest = Object.fromEntries(Object.entries(whole).filter(([one]) => one !== field));
    for (const [sent, expected] of [
      [value, whole],
      [null, rest],
      [value, whole],
    ] as const) {
      expect(await expectJson(await send("PATCH", item, { [field]: sent }), 200)).toEqual(expected);
      expect(await expectJson(await send("GET", item), 200)).toEqual(expected);
      expect(await expectJson(await send("GET", `${path}?sort=-id&limit=1`), 200)).toEqual([expected]);
    }
    if (once?.events !== 0) {
      const told = (await since(key, cursor)).map(({ data }) => data);
      expect(told).toEqual(expect.arrayContaining([whole, rest]));
    }
    const batch = `${path}/batch`;
    if (!(batch.slice("/v1".length) in paths)) return;
    // The value may be unique.
    await send("DELETE", item);
    const [{ id }] = (await expectJson(await send("POST", batch, [await creation()]), 201)) as [{ id: number }];
    for (const [sent, expected] of [
      [null, rest],
      [value, whole],
    ] as const) {
      const changed = await expectJson(await send("PATCH", batch, [{ id, [field]: sent }]), 200);
      expect(changed).toEqual([{ ...expected, id, version: expect.any(Number) }]);
    }
  });

  test.each([null, {}, "x".repeat((maxLength ?? 0) + 1)])("a creation refuses another value: %j", async (other) => {
    const refused = await send("POST", path, { ...(await creation()), [field]: other });
    expect(await expectError(refused, "invalid_request")).toMatch(new RegExp(`^${field} has to be `));
  });
});

/** The fields that may be as large as an int64. The document does not bound a version as the service does. */
const INTEGERS = OPERATIONS.flatMap(({ name, path, template, request: { method = "", body } }) =>
  Object.entries(fieldsOf(template.slice("/v1".length), method.toLowerCase()))
    .filter(([field, { format }]) => format === "int64" || field === "version")
    .map(([field]) => ({ name, method, path, field, body })),
);

test("the large integers of every body are among them", () =>
  expect(INTEGERS.map(({ name, field }) => `${name} ${field}`).toSorted()).toEqual([
    "createPet categoryId",
    "createPets categoryId",
    "importPets categoryId",
    "placeOrder petId",
    "updatePet categoryId",
    "updatePets categoryId",
    "updatePets id",
    "updatePets version",
  ]));

describe.each(INTEGERS)("$name: $field", ({ name, method, path, field, body }) => {
  const sent = (digits: string) => {
    const [item, ...others] = ([body].flat() as object[]).map((one) => ({ ...one, [field]: rawJSON(digits) }));
    return Array.isArray(body) ? [item, ...others] : item;
  };

  // Promise: numbers-of-floats-are-refused
  test.each([
    "1.2345678901234e+14",
    "9.00719925474099e+15",
    "9.007199254740992E15",
    "-123456789012345.5",
    "1e14",
    "1e99999999999999999999",
  ])("%s has passed through a float", async (digits) => {
    const message = new RegExp(`^(0: )?${field} has to be written with all its digits: an integer`);
    expect(await expectError(await send(method, path, sent(digits)), "invalid_request")).toMatch(message);
    const { tools } = await resultOf({ method: "tools/list" });
    if (!tools.some((tool) => tool.name === name)) return;
    const args = { ...(Array.isArray(body) ? { items: sent(digits) } : sent(digits)), idempotencyKey: "K" };
    expect((await refusalOf(name, args, "invalid_request")).message).toMatch(message);
  });

  test.each(["100000000000001", "1.0", "1e3", "1234567.0", "1.0000000000000000E+003"])("%s has not", async (digits) => {
    expect((await send(method, path, sent(digits))).status).not.toBe(400);
  });
});

// Promise: ignored-fields-are-named
test.each(OPERATIONS.filter(({ request }) => request.body !== undefined))(
  "$name names the fields that it ignores, unless it refuses the request",
  async ({ path, request: { method = "", body } }) => {
    const items = [body].flat() as object[];
    const whole = items.map((item) => ({ ...item, sku: 1 }));
    const response = await send(method, path, Array.isArray(body) ? whole : whole[0]);
    expect(response.headers.get("Ignored-Fields")).toBe(response.ok ? '"sku"' : null);
    expect(response.status).not.toBe(400);
  },
);
