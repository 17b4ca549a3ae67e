// Each field that a resource may lack, in every operation that writes or returns it. The document has an example of each.
import { env } from "cloudflare:workers";
import type { SchemaObject } from "openapi3-ts/oas31";
import { describe, expect, test } from "vitest";
import { ROWS } from "../../register/operations.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { latest, since } from "../events/feed.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

interface Fields {
  [field: string]: SchemaObject;
}
const schemas = document.components.schemas as unknown as { [name: string]: { properties?: Fields } };
const paths = document.paths as unknown as {
  [path: string]: { [method: string]: { requestBody?: { content: { [type: string]: { schema: { $ref: string } } } } } };
};

/** The fields of the body of an operation. */
function fieldsOf(path: string, method: string): Fields {
  const [body] = Object.values(paths[path]?.[method]?.requestBody?.content ?? {});
  return schemas[body?.schema.$ref.split("/").at(-1) ?? ""]?.properties ?? {};
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
    expect.arrayContaining(["createCategory description", "placeOrder reference"]),
  ));

describe.each(FIELDS)("$name: $field", ({ name, path, field, value, maxLength }) => {
  const [once] = ROWS[name].once ?? [];
  const creation = async () => {
    const request = await once?.prepare({ send, run: (sql) => env.DB.exec(sql) });
    return { ...request?.body, [field]: value };
  };

  // Promise: a-patch-is-whole
  test("every response has it, and a null removes it", async () => {
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
