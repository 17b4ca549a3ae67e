import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { SchemaObject } from "openapi3-ts/oas31";
import { expect, test } from "vitest";
import { findBreakingChanges } from "../../../openapi/compatibility.ts";
import { parseDocument } from "../../../openapi/read.ts";
import { answering, api, expectVerdict, getToy, json, OK, type Verdict } from "../../support/documents.ts";

const sending = (schema: SchemaObject) => getToy({ requestBody: json(schema) });
const toy: SchemaObject = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
const open = (...known: string[]): SchemaObject => ({
  anyOf: [
    { type: "string", enum: known },
    { type: "string", maxLength: 5 },
  ],
});

// Each change, with its effect on clients that send the value and on clients that receive it.
// Promise: no-breaking-changes
test.each<[string, SchemaObject, SchemaObject, { sent: Verdict; received: Verdict }]>([
  [
    "a higher limit",
    { type: "string", maxLength: 5 },
    { type: "string", maxLength: 9 },
    { sent: null, received: /body: maxLength was 5 and is now 9, so clients receive / },
  ],
  [
    "a lower limit",
    { type: "integer", minimum: 2, maximum: 5 },
    { type: "integer", minimum: 2, maximum: 4 },
    { sent: /body: maximum was 5 and is now 4, so requests that were valid are refused/, received: null },
  ],
  ["a lower least value", { minimum: 2 }, { minimum: 1 }, { sent: null, received: /minimum was 2 and is now 1/ }],
  ["a least length of nothing", { type: "string" }, { type: "string", minLength: 0 }, { sent: null, received: null }],
  ["a new pattern", {}, { pattern: "^a" }, { sent: /pattern was not set and is now "\^a"/, received: null }],
  [
    "another pattern",
    { pattern: "^a" },
    { pattern: "^b" },
    { sent: /pattern was "\^a" and is now "\^b"/, received: /pattern was "\^a" and is now "\^b"/ },
  ],
  [
    "a value that may be null",
    { type: "string" },
    { type: ["string", "null"] },
    { sent: null, received: /body: may now be of type null, / },
  ],
  [
    "a value that may not be null",
    { type: ["string", "null"] },
    { type: "string" },
    { sent: /body: may no longer be of type null, /, received: null },
  ],
  [
    "types in another order",
    { type: ["string", "null"] },
    { type: ["null", "string"] },
    { sent: null, received: null },
  ],
  [
    "numbers for integers",
    { type: "integer" },
    { type: "number" },
    { sent: null, received: /may now be of type number/ },
  ],
  [
    "a new value of an enumeration",
    { enum: ["a"] },
    { enum: ["a", "b"] },
    { sent: null, received: /body: may now be "b", / },
  ],
  [
    "a removed value of an enumeration",
    { enum: ["a", "b"] },
    { enum: ["a"] },
    { sent: /body: may no longer be "b", /, received: null },
  ],
  ["a constant as an enumeration", { const: "a" }, { type: "string", enum: ["a"] }, { sent: null, received: null }],
  [
    "an enumeration that opens",
    { type: "string", enum: ["a"] },
    { type: "string" },
    { sent: null, received: /body: enum was \["a"\] and is now not set/ },
  ],
  ["a new value of an open list", open("a"), open("a", "b"), { sent: null, received: null }],
  [
    "a removed value of an open list",
    open("a", "b"),
    open("a"),
    { sent: null, received: /body: may no longer be "b", so clients that wait for it never receive it/ },
  ],
  [
    "a new value that an open list does not accept",
    open("a"),
    open("a", "longer"),
    { sent: null, received: /body: may now be "longer", / },
  ],
  [
    "an open list that accepts longer values",
    open("a"),
    { anyOf: [{ enum: ["a"] }, { type: "string", maxLength: 9 }] },
    { sent: null, received: /body: maxLength was 5 and is now 9, / },
  ],
  [
    "a list that opens, with a new value",
    { type: "string", enum: ["a"] },
    open("a", "b"),
    { sent: null, received: /body: enum was \["a"\] and is now not set, / },
  ],
  [
    "a list that opens, without one of its values",
    { type: "string", enum: ["a", "b"] },
    open("a"),
    { sent: null, received: [/body: may no longer be "b", /, /body: enum was/] },
  ],
  [
    "a list that closes",
    open("a"),
    { type: "string", enum: ["a"] },
    { sent: /body: enum was not set and is now \["a"\], /, received: null },
  ],
  ["a field that is now required", { ...toy, required: [] }, toy, { sent: /body\.a: .* now required/, received: null }],
  [
    "a required field that is not listed",
    {},
    { required: ["a"] },
    { sent: /body\.a: .* now required/, received: null },
  ],
  ["a field that may be missing", toy, { ...toy, required: [] }, { sent: null, received: /body\.a: .* be missing/ }],
  [
    "a removed field",
    toy,
    { type: "object" },
    {
      sent: /body\.a: the field is gone, so .* ignores or refuses/,
      received: /body\.a: the field is gone, so clients/,
    },
  ],
  [
    "a new optional object with a required field",
    {},
    { properties: { b: { type: "object", required: ["c"], properties: { c: { type: "string" } } } } },
    { sent: null, received: null },
  ],
  [
    "wider items",
    { type: "array", items: { type: "integer" } },
    { type: "array", items: {} },
    { sent: null, received: /body\[\]: may now be of type .*string/ },
  ],
  [
    "a new alternative",
    { oneOf: [{ type: "string" }] },
    { oneOf: [{ type: "null" }, { type: "string" }] },
    { sent: null, received: /body: may now be of type null/ },
  ],
  [
    "a removed alternative",
    { anyOf: [{ type: "string" }, { type: "null" }] },
    { anyOf: [{ type: "null" }] },
    { sent: /body: may no longer be of type string/, received: null },
  ],
  [
    "a value that becomes one of several",
    { type: "string", maxLength: 5 },
    { maxLength: 5, oneOf: [{ type: "null" }, { type: "string" }] },
    { sent: null, received: /body: may now be of type null/ },
  ],
  [
    "alternatives in another order, one of them stricter",
    { oneOf: [toy, { type: "integer" }] },
    { oneOf: [{ type: "integer", maximum: 5 }, toy] },
    { sent: /body: maximum was not set and is now 5/, received: null },
  ],
  [
    "another default",
    { default: 1 },
    { default: 2 },
    { sent: /body: default was 1 and is now 2/, received: /body: default was 1 and is now 2/ },
  ],
  [
    "a field that can only be sent",
    { properties: { a: {} } },
    { properties: { a: { writeOnly: true } } },
    { sent: /body\.a: writeOnly was/, received: /body\.a: writeOnly was not set and is now true/ },
  ],
  [
    "a keyword that the check does not know",
    {},
    { not: { type: "null" } },
    { sent: /not was not set/, received: null },
  ],
  [
    "a mark, a note and a warning",
    {},
    {
      "x-icon": "toy",
      $comment: "A toy.",
      description: "Other words.",
      deprecated: true,
      title: "Toy",
      examples: [1],
    } as SchemaObject,
    { sent: null, received: null },
  ],
  [
    "fields with names that every object has",
    {},
    { properties: { constructor: { type: "string" }, title: { type: "string" } } } as SchemaObject,
    { sent: null, received: null },
  ],
])("%s", (_, before, after, { sent, received }) => {
  expectVerdict(sending(before), sending(after), sent);
  expectVerdict(answering(before), answering(after), received);
  expectVerdict(sending(after), sending(after), null);
  expectVerdict(answering(after), answering(after), null);
});

const reference = (name: string): SchemaObject => ({ $ref: `#/components/schemas/${name}` });
const withSchemas = (schemas: { [name: string]: SchemaObject }, use: SchemaObject = reference("Toy")) =>
  api(
    {
      "/toys": {
        post: { requestBody: json(use), responses: { 200: { ...OK, ...json(use) } } },
      },
    },
    schemas,
  );

test("a schema that clients send and receive breaks both sides", () => {
  const before = withSchemas({ Toy: toy });
  expectVerdict(before, withSchemas({ Toy: { ...toy, required: [] } }), /may now be missing/);
  expectVerdict(withSchemas({ Toy: { ...toy, required: [] } }), before, /now required/);
});

test("the comparison of a recursive schema ends and finds its changes", () => {
  const tree = (name: string, more: SchemaObject = {}): SchemaObject => ({
    type: "object",
    properties: { name: { type: "string", ...more }, parts: { type: "array", items: reference(name) } },
  });
  const released = withSchemas({ Toy: tree("Toy") });
  expectVerdict(released, released, null);
  expectVerdict(released, withSchemas({ Toy: tree("Toy", { maxLength: 5 }) }), /^schemas\/Toy\.name: maxLength/);
  // Two schemas that refer to each other, under new names, and one that is written out one level deeper.
  const twins = { A: tree("B"), B: tree("A") };
  expectVerdict(released, withSchemas(twins, reference("A")), null);
  expectVerdict(withSchemas(twins, reference("A")), released, null);
  expectVerdict(released, withSchemas({ Toy: tree("Toy") }, tree("Toy")), null);
  // A keyword that the check does not understand, and compares for equality.
  const negated = withSchemas({ Toy: { not: tree("Toy") } });
  expectVerdict(negated, negated, null);
  expectVerdict(negated, withSchemas({ Toy: { not: tree("Toy", { maxLength: 5 }) } }), [
    /^schemas\/Toy: not was .*, so requests/,
    /^schemas\/Toy: not was .*, so clients/,
  ]);
});

test("a change behind a reference is found where the check only compares for equality", () => {
  const before = withSchemas({ Toy: { not: reference("Other") }, Other: { type: "string" } });
  const after = withSchemas({ Toy: { not: reference("Other") }, Other: { type: "null" } });
  expectVerdict(before, after, [
    /^schemas\/Toy: not was \{"type":"string"\} and is now \{"type":"null"\}, so requests/,
    /^schemas\/Toy: not was \{"type":"string"\} and is now \{"type":"null"\}, so clients/,
  ]);
});

test("a keyword next to a reference counts", () => {
  const before = withSchemas({ Toy: { type: "string" } });
  const after = withSchemas({ Toy: { type: "string" } }, { ...reference("Toy"), maxLength: 5 });
  expectVerdict(before, after, /request body: maxLength was not set and is now 5/);
  expectVerdict(before, withSchemas({ Toy: {} }, { type: "string" }), null);
});

test("an alternative that may be null does not hide a change of the other", () => {
  const nullable = { oneOf: [reference("Toy"), { type: "null" }] } satisfies SchemaObject;
  const before = withSchemas({ Toy: toy }, nullable);
  expectVerdict(before, before, null);
  expectVerdict(before, withSchemas({ Toy: { ...toy, required: [] } }, nullable), /^schemas\/Toy\.a: .* be missing/);
});

test("a new value of a list that is open in responses and closed in requests is compatible, and a removed one is not", () => {
  const shop = (...known: string[]) =>
    api(
      {
        "/toys": {
          post: {
            requestBody: json(reference("Colour")),
            responses: { 200: { ...OK, ...json({ anyOf: [reference("Colour"), { type: "string" }] }) } },
          },
        },
      },
      { Colour: { type: "string", enum: known } },
    );
  expectVerdict(shop("red"), shop("red", "blue"), null);
  expectVerdict(shop("red", "blue"), shop("red"), [
    /^schemas\/Colour: may no longer be "blue", so requests/,
    /200, body: may no longer be "blue", so clients/,
  ]);
});

test.each<[string, SchemaObject]>([
  ["allOf", { allOf: [toy] }],
  ["additionalProperties", { ...toy, additionalProperties: false }],
  ["type", { ...reference("Toy"), type: "string" }],
])("a schema whose %s the check does not understand is an error", (keyword, use) => {
  const document = withSchemas({ Toy: toy }, use);
  expect(() => findBreakingChanges(document, withSchemas({ Toy: toy }, toy))).toThrow(keyword);
});

// Promise: bounds-are-exact
test("the limits of an int64 are compared exactly", () => {
  const upTo = (maximum: string) =>
    parseDocument(
      JSON.stringify(sending({ type: "integer", maximum: 0 })).replace('"maximum":0', `"maximum":${maximum}`),
    );
  expectVerdict(
    upTo("9223372036854775807"),
    upTo("9223372036854775806"),
    /maximum was 9223372036854775807 and is now 9223372036854775806/,
  );
  expectVerdict(upTo("9223372036854775806"), upTo("9223372036854775807"), null);
  expectVerdict(upTo("1.5"), upTo("1e30"), null);
});

test("after a compatible change, every value that was valid is still valid", () => {
  const leaf: fc.Arbitrary<SchemaObject> = fc.record(
    {
      type: fc.constantFrom<NonNullable<SchemaObject["type"]>>("integer", "number", "string", ["string", "null"]),
      minimum: fc.nat(2),
      maxLength: fc.nat(2),
      enum: fc.subarray([0, 1, "a", "bb", null], { minLength: 1 }),
      pattern: fc.constantFrom("a", "b"),
    },
    { requiredKeys: ["type"] },
  );
  // Both versions have the same fields, because new fields are compatible by this project's rules and not by JSON Schema.
  const toy = (a: SchemaObject, required: string[]): SchemaObject => ({
    type: "object",
    properties: { a, b: {} },
    required,
  });
  const list = (items: SchemaObject, minItems: number): SchemaObject => ({ type: "array", items, minItems });
  const required = fc.subarray(["a", "b", "c"]);
  const version = fc.record({ leaf, other: leaf, required, minItems: fc.nat(2) });
  type Version = typeof version extends fc.Arbitrary<infer Value> ? Value : never;
  const shape = fc.constantFrom<((version: Version) => SchemaObject)[]>(
    ({ leaf }) => leaf,
    ({ leaf, minItems }) => list(leaf, minItems),
    ({ leaf, required }) => toy(leaf, required),
    ({ leaf, other }) => ({ anyOf: [leaf, other] }),
    ({ leaf, required, minItems }) => ({ anyOf: [toy(leaf, required), list(leaf, minItems)] }),
  );
  const scalar = fc.constantFrom(0, 1, 1.5, "", "a", "bb", null);
  const value = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 2 }),
    fc.record({ a: scalar, b: scalar, c: scalar }, { requiredKeys: [] }),
  );
  const isValid = (value: unknown, schema: SchemaObject) => new Validator(schema, "2020-12").validate(value).valid;

  let compared = 0;
  function expectAccepted(changes: string[], values: unknown[], from: SchemaObject, to: SchemaObject): void {
    if (changes.length > 0) return;
    for (const value of values.filter((value) => isValid(value, from))) {
      compared++;
      expect(isValid(value, to), JSON.stringify({ value, from, to })).toBe(true);
    }
  }
  fc.assert(
    fc.property(shape, shape, version, version, fc.array(value, { minLength: 30 }), (one, other, ...rest) => {
      const [released, current, values] = rest;
      for (const [before, after] of [
        [one(released), one(current)],
        [one(released), other(current)],
      ] as const) {
        expectAccepted(findBreakingChanges(sending(before), sending(after)), values, before, after);
        expectAccepted(findBreakingChanges(answering(before), answering(after)), values, after, before);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(compared).toBeGreaterThan(10);
});
