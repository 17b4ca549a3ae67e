import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { SchemaObject } from "openapi3-ts/oas31";
import { expect, test } from "vitest";
import { findBreakingChanges } from "../../../openapi/compatibility.ts";
import { answering, api, expectVerdict, getToy, json, OK, type Verdict } from "../../support/documents.ts";

const sending = (schema: SchemaObject) => getToy({ requestBody: json(schema) });
const toy: SchemaObject = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
const open = (...known: string[]): SchemaObject => ({
  anyOf: [
    { type: "string", enum: known },
    { type: "string", maxLength: 5 },
  ],
});

const text = (more: SchemaObject = {}): SchemaObject => ({ type: "string", ...more });
const NULLABLE: SchemaObject = { type: ["string", "null"] };
const SHORT: SchemaObject = { type: "string", maxLength: 5 };
const other = (was: string, is: string) => new RegExp(`body: ${RegExp.escape(was)} and is now ${RegExp.escape(is)}`);
const REQUIRED = /body\.a: .* now required/;

// Each change, with its effect on clients that send the value and on clients that receive it.
// Promise: no-breaking-changes
test.each<[string, SchemaObject, SchemaObject, sent: Verdict, received: Verdict]>([
  ["a higher limit", SHORT, text({ maxLength: 9 }), null, /body: maxLength was 5 and is now 9, so clients receive /],
  ["a lower limit", { maximum: 5 }, { maximum: 4 }, /body: maximum was 5 and is now 4, so requests that were/, null],
  ["a lower least value", { minimum: 2 }, { minimum: 1 }, null, /minimum was 2 and is now 1/],
  ["a least length of nothing", text(), text({ minLength: 0 }), null, null],
  ["a new pattern", {}, { pattern: "^a" }, other("pattern was not set", '"^a"'), null],
  ["another pattern", { pattern: "^a" }, { pattern: "b" }, /was "\^a" and is now "b"/, /was "\^a" and is now "b"/],
  ["a value that may be null", text(), NULLABLE, null, /body: may now be of type null, /],
  ["a value that may not be null", NULLABLE, text(), /body: may no longer be of type null, /, null],
  ["types in another order", NULLABLE, { type: ["null", "string"] }, null, null],
  ["numbers for integers", { type: "integer" }, { type: "number" }, null, /may now be of type number/],
  ["a new value of an enumeration", { enum: ["a"] }, { enum: ["a", "b"] }, null, /body: may now be "b", /],
  ["a removed value of an enumeration", { enum: ["a", "b"] }, { enum: ["a"] }, /body: may no longer be "b", /, null],
  ["a constant as an enumeration", { const: "a" }, text({ enum: ["a"] }), null, null],
  ["an enumeration that opens", text({ enum: ["a"] }), text(), null, other('enum was ["a"]', "not set")],
  ["a new value of an open list", open("a"), open("a", "b"), null, null],
  ["a removed one", open("a", "b"), open("a"), null, /be "b", so clients that wait for it never receive it/],
  ["a new one that it does not accept", open("a"), open("a", "longer"), null, /body: may now be "longer", /],
  [
    "an open list that accepts longer values",
    open("a"),
    { anyOf: [{ enum: ["a"] }, text({ maxLength: 9 })] },
    null,
    other("maxLength was 5", "9, "),
  ],
  ["a list that opens, with a new value", text({ enum: ["a"] }), open("a", "b"), null, other('enum was ["a"]', "not")],
  [
    "a list that opens, without one of its values",
    text({ enum: ["a", "b"] }),
    open("a"),
    null,
    [/body: may no longer be "b", /, /body: enum was/],
  ],
  ["a list that closes", open("a"), text({ enum: ["a"] }), other("enum was not set", '["a"], '), null],
  ["a field that is now required", { ...toy, required: [] }, toy, REQUIRED, null],
  ["a required field that is not listed", {}, { required: ["a"] }, REQUIRED, null],
  ["a field that may be missing", toy, { ...toy, required: [] }, null, /body\.a: .* be missing/],
  ["a removed field", toy, { type: "object" }, /a: .* gone, so .* ignores or refuses/, /a: .* gone, so clients/],
  [
    "a new optional object with a required field",
    {},
    { properties: { b: { type: "object", required: ["c"], properties: { c: text() } } } },
    null,
    null,
  ],
  ["wider items", { type: "array", items: text() }, { type: "array", items: {} }, null, /body\[\]: may now be .*null/],
  ["a new alternative", { oneOf: [text()] }, { oneOf: [{ type: "null" }, text()] }, null, /may now be of type null/],
  [
    "a removed one of several",
    { anyOf: [text(), { type: "null" }] },
    { anyOf: [text()] },
    /longer be of type null/,
    null,
  ],
  [
    "a value that becomes one of several",
    SHORT,
    { maxLength: 5, oneOf: [{ type: "null" }, text()] },
    null,
    /body: may now be of type null/,
  ],
  [
    "alternatives in another order, one of them stricter",
    { oneOf: [toy, { type: "integer" }] },
    { oneOf: [{ type: "integer", maximum: 5 }, toy] },
    /body: maximum was not set and is now 5/,
    null,
  ],
  ["a keyword that the check does not know", {}, { not: { type: "null" } }, /not was not set/, null],
  [
    "a mark, a note and a warning",
    {},
    { "x-icon": "toy", $comment: "A", description: "B", deprecated: true, title: "C", examples: [1] } as SchemaObject,
    null,
    null,
  ],
  ["fields with names that every object has", {}, { properties: { constructor: text(), title: text() } }, null, null],
])("%s", (_, before, after, sent, received) => {
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
  ["default", { ...toy, default: {} }],
  ["type", { ...reference("Toy"), type: "string" }],
])("a schema whose %s the check does not understand is an error", (keyword, use) => {
  const document = withSchemas({ Toy: toy }, use);
  expect(() => findBreakingChanges(document, withSchemas({ Toy: toy }, toy))).toThrow(keyword);
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
    { numRuns: 1_000 },
  );
  expect(compared).toBeGreaterThan(10);
});
