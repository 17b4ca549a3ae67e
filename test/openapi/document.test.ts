import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import document from "../../public/openapi.json" with { type: "json" };
import { ERRORS } from "../../src/errors.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { parseExact } from "../../src/exact/json.ts";
import { BOOKMARK } from "../../src/http/open-session.ts";
import { EVENT_CURSOR } from "../../src/feed/place.ts";
import { CURSOR, decodeCursor, encodeCursor } from "../../src/http/cursor.ts";
import { parseTags } from "../../src/http/precondition.ts";
import { parseIdempotencyKey } from "../../src/idempotency/attempt.ts";
import { category } from "../../src/categories/shape.ts";
import { pet } from "../../src/pets/shape.ts";
import { DELIVERY_CURSOR } from "../../src/webhooks/list-deliveries.ts";
import { petChange } from "../../src/pets/update-pets.ts";

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const { schemas } = document.components;

const validators = new WeakMap<object, Validator>();

function isValid(value: unknown, schema: object): boolean {
  const validator = validators.get(schema) ?? new Validator({ ...schema, components: { schemas } }, "2020-12");
  validators.set(schema, validator);
  return validator.validate(value).valid;
}

// Promise: deprecated-in-the-document
test("every operation has the tag of its resource, and a deprecated one names its end", () => {
  const tags = document.tags.map(({ name }) => name);
  for (const { operation } of operations) {
    expect(operation).toMatchObject({ tags: [expect.toBeOneOf(tags)], security: [{ apiKey: [] }] });
    expect(operation["x-stability"]).toBeOneOf(["stable", "beta", "experimental"]);
  }
  expect(document.paths["/pets/{petId}"].get).toMatchObject({ deprecated: true, "x-sunset": "2030-12-05" });
});

test("every example is valid under its schema", () => {
  let examples = 0;
  function check(value: unknown, schema: object, where: string) {
    examples++;
    expect(isValid(value, schema), `${where}: ${JSON.stringify(value)}`).toBe(true);
  }
  for (const [name, schema] of Object.entries(schemas)) {
    for (const example of schema.examples) check(example, schema, name);
    const properties: [string, { examples?: unknown[] }][] =
      "properties" in schema ? Object.entries(schema.properties) : [];
    for (const [property, propertySchema] of properties) {
      for (const example of propertySchema.examples ?? []) check(example, propertySchema, `${name}.${property}`);
    }
  }
  interface Content {
    content?: { "application/json": { schema: object; examples: Record<string, { value: unknown }> } };
  }
  for (const { operation } of operations) {
    const bodies: [string, Content][] = Object.entries(operation.responses);
    if ("requestBody" in operation) bodies.push(["request", operation.requestBody]);
    for (const [status, { content }] of bodies) {
      const { schema, examples: all } = content?.["application/json"] ?? { schema: {}, examples: {} };
      for (const { value } of Object.values(all)) check(value, schema, `${operation.operationId} ${status}`);
    }
    for (const parameter of operation.parameters) {
      if ("example" in parameter) check(parameter.example, parameter.schema, parameter.name);
    }
  }
  expect(examples).toBeGreaterThan(30);
});

test("every header and cursor of a request has an example that is one", () => {
  const parameters = [
    ...Object.values(document.components.parameters),
    ...operations.flatMap(({ operation }) => operation.parameters),
  ];
  const named = parameters.filter((one) => "in" in one && (one.in === "header" || one.name === "cursor"));
  const examples = new Map(
    named.map((one) => [`${one.name} ${one.schema.maxLength}`, "example" in one ? one.example : undefined]),
  );
  for (const one of named) expect(isValid("example" in one ? one.example : undefined, one.schema), one.name).toBe(true);
  expect(decodeCursor(examples.get("cursor 16") ?? "")).toEqual({ after: "2", sort: "id" });
  expect(examples.size).toBe(8);
});

test("every parameter has a description", () => {
  const deliveries = Object.values(document.webhooks).flatMap(({ post }) => post.parameters);
  const parameters = [...Object.values(document.components.parameters), ...deliveries].concat(
    operations.flatMap(({ operation }) => operation.parameters as never[]),
  );
  const silent = parameters.filter((one) => !("$ref" in one) && !one.description?.endsWith("."));
  expect(silent).toEqual([]);
});

test("every delivery has the schema of its own event, and the tag of the webhooks", () => {
  const deliveries = Object.entries(document.webhooks).map(([type, { post }]) => {
    const { schema, examples } = post.requestBody.content["application/json"];
    return { type, tags: post.tags, schema, event: examples.example.value };
  });
  const kindOf = (type: string) => (type.endsWith(".deleted") ? "deleted" : type.split(".")[0]);
  for (const one of deliveries) {
    expect(one.event.type).toBe(one.type);
    expect(one.tags).toEqual(["Webhooks"]);
    for (const { type, event } of deliveries)
      expect(isValid(event, one.schema), `${type} as ${one.type}`).toBe(kindOf(type) === kindOf(one.type));
  }
});

// Promise: bounds-are-exact
test("every integer, string and array has bounds, and an int64 those of its format", () => {
  const rules: { [type: string]: string[][] } = {
    integer: [["format"], ["minimum"], ["maximum"]],
    string: [
      ["maxLength", "enum", "const"],
      ["pattern", "format", "enum", "const"],
    ],
    array: [["maxItems"]],
  };
  let boundsFound = 0;
  const faults: string[] = [];
  function check(part: unknown, where: string): void {
    if (typeof part !== "object" || part === null) return;
    const isInt64 = "format" in part && part.format === "int64";
    const required = isInt64 ? [] : ("type" in part && rules[String(part.type)]) || [];
    // Tools that read JSON into floats would round a larger bound.
    for (const keyword of ["minimum", "maximum"])
      if (keyword in part && !Number.isSafeInteger(part[keyword as never]))
        faults.push(`${where} has a large ${keyword}`);
    boundsFound += required.length;
    for (const keywords of required) {
      if (!keywords.some((keyword) => keyword in part)) faults.push(`${where} lacks ${keywords.join(" or ")}`);
    }
    for (const [name, inner] of Object.entries(part)) check(inner, `${where}.${name}`);
  }
  check(document.paths, "paths");
  check(document.components, "components");
  expect(faults).toEqual([]);
  expect(boundsFound).toBeGreaterThan(50);
});

// Promise: codes-have-a-status, the-status-is-in-the-body
test("the document has the error codes of the service, each with its status", () => {
  expect(schemas.ErrorCode.enum).toEqual(Object.keys(ERRORS));
  for (const { operation } of operations) {
    const responses: [string, { content: { "application/json": { examples: object } } }][] = Object.entries(
      operation.responses,
    );
    for (const [status, response] of responses) {
      if (Number(status) < 400) continue;
      for (const { value } of Object.values(response.content["application/json"].examples)) {
        expect(ERRORS[value.code as keyof typeof ERRORS].status).toBe(Number(status));
      }
    }
  }
});

test.each(['"1"', 'W/"3"', '"999999999999999"', 'W/"999999999999999"'])("ETag: %s is valid", (tag) => {
  expect(isValid(tag, document.components.headers.ETag.schema)).toBe(true);
});

// Promise: open-lists, states-may-come
test("the lists that may grow are the open lists in responses", () => {
  const [error] = schemas.Error.examples;
  expect(isValid({ ...error, code: "too_early" }, schemas.Error)).toBe(true);
  expect(isValid({ ...error, code: "Too early!" }, schemas.Error)).toBe(false);
  const [order] = schemas.Order.examples;
  expect(isValid({ ...order, status: "returned" }, schemas.Order)).toBe(true);
  const [event] = schemas.Event.examples;
  const { items } = schemas.EventPage.properties.events;
  expect(isValid({ ...event, type: "pet.moved", data: { to: "Rome" } }, items)).toBe(true);
  expect(isValid({ ...event, type: "pet.created", data: { id: 1 } }, items)).toBe(false);
  expect(isValid({ ...event, type: "pet.deleted", data: { id: 1 } }, items)).toBe(true);
  const [animal] = schemas.Animal.examples;
  expect(isValid({ ...animal, status: "returned" }, schemas.Animal)).toBe(false);
});

describe("the schemas of requests match the checks of the service", () => {
  /** Mostly values that are valid: one invalid field makes a whole body invalid. */
  const mostly = <Value>(valid: fc.Arbitrary<Value>, ...others: fc.Arbitrary<unknown>[]) =>
    fc.oneof({ weight: 6, arbitrary: valid }, fc.oneof(...others));
  const dogs = (...counts: number[]) => fc.constantFrom(...counts).map((count) => "🐕".repeat(count));
  const name = mostly(
    fc.oneof(fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }), dogs(1, 254, 255)),
    fc.string({ unit: "grapheme", maxLength: 300 }),
    // Without U+0085: the pattern accepts it, and the service does not.
    fc.stringMatching(/^[\s\ufeff]{0,4}$/),
    dogs(256, 300),
    fc.jsonValue(),
  );
  // Only the format tells the bounds of an int64, and the validator does not know it.
  const categoryId = mostly(
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, max: 1e15, min: -1e15 }),
    fc.jsonValue().filter((value) => typeof value !== "number" || Math.abs(value) < 2 ** 63),
  );
  const status = mostly(fc.constantFrom("available", "pending", "sold"), fc.constantFrom("gone", ""), fc.jsonValue());

  test("of a new pet", () => {
    let valid = 0;
    fc.assert(
      fc.property(fc.record({ name, categoryId, status, extra: fc.jsonValue() }, { requiredKeys: [] }), (body) => {
        // Parsed like in the service, where a number above 2^53 is exact.
        const accepted = pet.creation().safeParse(parseExact(JSON.stringify(body))).success;
        expect(isValid(body, schemas.NewPet)).toBe(accepted);
        if (accepted) valid++;
      }),
      { numRuns: 1_000, examples: [[{ name: "!", categoryId: -9007199254740992 }]] },
    );
    expect(valid).toBeGreaterThan(200);
    expect(valid).toBeLessThan(800);
  });

  test.each([0, 1, 2 ** 31, 10 ** 15 - 1, 10 ** 15, 1.5])("of the version of a change: %d", (version) => {
    const change = { id: 1, version };
    const accepted = petChange().safeParse(parseExact(JSON.stringify(change))).success;
    expect(accepted).toBe(version >= 1 && version < 10 ** 15 && Number.isInteger(version));
    expect(isValid(change, schemas.PetChange)).toBe(accepted);
  });

  /** The operations with a cursor of their own, and the operation of each such parameter. */
  const OWN_CURSORS = ["listEvents", "followLive", "listDeliveries"];
  const OPERATION_OF: { [name: string]: string } = {
    "cursor of events": "listEvents",
    "cursor of deliveries": "listDeliveries",
  };

  /** The schema of a parameter. Asserts that it is the same in every operation. */
  function schemaOf(name: string): object {
    const only = OPERATION_OF[name];
    const parameters: { name?: string; schema?: object }[] = operations
      .filter(({ operation: { operationId } }) =>
        only === undefined ? !OWN_CURSORS.includes(operationId) : operationId === only,
      )
      .flatMap(({ operation }) => operation.parameters);
    const shared = Object.values(document.components.parameters);
    const found = [...parameters, ...shared].filter((parameter) => parameter.name === name.split(" ")[0]);
    expect(new Set(found.map(({ schema }) => JSON.stringify(schema))).size, name).toBe(1);
    return found[0]?.schema ?? {};
  }

  /** Strings of these pieces: many are valid, and many are one character away from valid. */
  const textOf = (...pieces: string[]) =>
    fc
      .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...pieces) }, fc.string({ maxLength: 1 })), {
        maxLength: 9,
      })
      .map((parts) => parts.join(""));
  const around = (length: number, character: string) =>
    fc.integer({ min: length - 4, max: length + 2 }).map((count) => character.repeat(count));
  const hex = (length: number) =>
    fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length });

  test.each<[string, (value: string) => boolean, fc.Arbitrary<string>]>([
    [
      "If-Match",
      (value) => parseTags(value) !== undefined,
      fc.oneof(
        textOf("*", '"1"', 'W/"22"', '"a,b"', '"\u00fc"', '""', ",", " ", "\t", "W/", '"', "-"),
        around(999, "1").map((tag) => `"${tag}"`),
        around(1_000, " ").map((space) => `${space}"1"`),
      ),
    ],
    [
      "Idempotency-Key",
      // The document leaves out the parameters of a String, which mean nothing.
      (value) => parseIdempotencyKey(value) !== undefined && !/^"(?:[^"\\]|\\.)*";/.test(value),
      fc.oneof(
        textOf("order", "-", "66", '"', "\\", '\\"', "\\\\", "~", "!", " "),
        textOf("order", '\\"', "\\\\", "~", "!").map((key) => `"${key}"`),
        around(255, "k"),
        around(255, "k").map((key) => `"${key}"`),
        around(255, "\\\\").map((key) => `"${key}"`),
      ),
    ],
    [
      "x-d1-bookmark",
      (value) => BOOKMARK.test(value),
      fc.tuple(hex(8), hex(8), hex(8), fc.constantFrom(31, 32, 32, 32, 33).chain(hex)).map((parts) => parts.join("-")),
    ],
    [
      "cursor",
      // A pattern cannot check the checksum.
      (value) => CURSOR.test(value),
      fc.oneof(
        fc
          .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
          .map((after) => encodeCursor({ after: String(after) as Int64, sort: "id" })),
        fc.base64String({ maxLength: 24 }),
        textOf("0", "_", "-AAA", "zZ9_", "+", "=", "\u00e9"),
      ),
    ],
    [
      "cursor of events",
      (value) => value === "latest" || EVENT_CURSOR.test(value),
      fc.oneof(fc.constantFrom("latest", "Latest"), fc.constantFrom(31, 32, 33).chain(hex), textOf("0", "f", "G", "-")),
    ],
    [
      "cursor of deliveries",
      (value) => DELIVERY_CURSOR.test(value),
      fc
        .tuple(fc.constantFrom("f", "p", "x", "pmsg_"), fc.integer({ min: 14, max: 36 }).chain(hex))
        .map((parts) => parts.join("")),
    ],
  ])("of %s", (name, accepts, text) => {
    const schema = schemaOf(name);
    const verdicts = new Set<boolean>();
    fc.assert(
      fc.property(text, (value) => {
        verdicts.add(accepts(value));
        expect(isValid(value, schema), value).toBe(accepts(value));
      }),
      { numRuns: 500 },
    );
    expect(verdicts.size).toBe(2);
  });
});

test.each([
  ["NewPet", pet.fields],
  ["NewCategory", category.fields],
] as const)("the texts of %s are as long as the document says", (name, fields) => {
  const properties = schemas[name].properties as { [field: string]: { maxLength?: number } };
  for (const [field, { schema }] of Object.entries(fields)) {
    const { maxLength } = properties[field] ?? {};
    if (maxLength === undefined) continue;
    expect(schema().safeParse("x".repeat(maxLength)).success, field).toBe(true);
    expect(schema().safeParse("x".repeat(maxLength + 1)).success, field).toBe(false);
  }
});
