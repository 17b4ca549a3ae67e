import type { OperationObject, ParameterObject, PathItemObject } from "openapi3-ts/oas31";
import { expect, test } from "vitest";
import { findBreakingChanges } from "../../../openapi/compatibility.ts";
import { answering, api, expectVerdict, getToy, json, OK, type Verdict } from "../../support/documents.ts";

const query = (parameter: Partial<ParameterObject>): ParameterObject => ({
  name: "size",
  in: "query",
  schema: { type: "integer" },
  ...parameter,
});
const PATCH = "application/merge-patch+json";

// Promise: marks-become-more-stable, no-breaking-changes
test.each<[string, OperationObject, OperationObject, Verdict]>([
  // Parameters
  ["a new optional parameter", {}, { parameters: [query({})] }, null],
  [
    "a new required header parameter",
    {},
    { parameters: [query({ in: "header", required: true })] },
    /header parameter size: the parameter is now required, so requests without it are refused/,
  ],
  [
    "an optional parameter that becomes required",
    { parameters: [query({})] },
    { parameters: [query({ required: true })] },
    /query parameter size: the parameter is now required/,
  ],
  ["a parameter that becomes optional", { parameters: [query({ required: true })] }, { parameters: [query({})] }, null],
  ["a removed parameter", { parameters: [query({})] }, {}, /query parameter size: the parameter is gone/],
  [
    "a parameter that moves",
    { parameters: [query({})] },
    { parameters: [query({ in: "header" })] },
    /query parameter size: the parameter moved to the header/,
  ],
  [
    "a header parameter in another case",
    { parameters: [query({ in: "header", name: "If-Match" })] },
    { parameters: [query({ in: "header", name: "if-match" })] },
    null,
  ],
  [
    "a query parameter in another case",
    { parameters: [query({ name: "If-Match" })] },
    { parameters: [query({ name: "if-match" })] },
    /query parameter If-Match: the parameter is gone/,
  ],
  [
    "a stricter parameter",
    { parameters: [query({})] },
    { parameters: [query({ schema: { type: "integer", maximum: 5 } })] },
    /query parameter size: maximum was not set and is now 5/,
  ],
  [
    "a looser parameter",
    { parameters: [query({ schema: { type: "integer", maximum: 5 } })] },
    { parameters: [query({ schema: { type: "integer", maximum: 6 } })] },
    null,
  ],
  [
    "a stricter parameter that is a JSON text",
    { parameters: [query({ content: json({ type: "object" }).content })] },
    { parameters: [query({ content: json({ type: "object", required: ["a"] }).content })] },
    /query parameter size\.a: the field is now required/,
  ],

  // Request bodies
  ["a new optional body", {}, { requestBody: json({ required: ["a"] }) }, null],
  [
    "a new required body",
    {},
    { requestBody: { required: true, ...json({}) } },
    /^GET \/toys\/\{id\}: a request body is now required, so requests without one are refused/,
  ],
  [
    "a body that becomes required",
    { requestBody: json({}) },
    { requestBody: { required: true, ...json({}) } },
    /a request body is now required/,
  ],
  ["a body that becomes optional", { requestBody: { required: true, ...json({}) } }, { requestBody: json({}) }, null],
  ["a removed body", { requestBody: json({}) }, {}, /application\/json is no longer accepted/],
  [
    "a new media type of requests",
    { requestBody: json({}) },
    { requestBody: { content: { ...json({}).content, [PATCH]: { schema: {} } } } },
    null,
  ],
  [
    "a removed media type of requests",
    { requestBody: { content: { ...json({}).content, [PATCH]: { schema: {} } } } },
    { requestBody: json({}) },
    /application\/merge-patch\+json is no longer accepted/,
  ],
  [
    "a stricter body of another media type",
    { requestBody: { content: { [PATCH]: { schema: { type: ["string", "null"] } } } } },
    { requestBody: { content: { [PATCH]: { schema: { type: "string" } } } } },
    /request body: may no longer be of type null/,
  ],

  // Responses
  ["the same response without content", { responses: { 204: OK } }, { responses: { 204: OK } }, null],
  [
    "a response that loses its content",
    { responses: { 200: { ...OK, ...json({}) } } },
    { responses: { 200: OK } },
    /200, body: application\/json is no longer sent/,
  ],
  [
    "a response of another media type",
    { responses: { 200: { ...OK, ...json({}) } } },
    { responses: { 200: { ...OK, content: { "text/csv": {} } } } },
    /200, body: application\/json is no longer sent/,
  ],
  [
    "a changed response of another media type",
    { responses: { 200: { ...OK, content: { "application/problem+json": { schema: { required: ["a"] } } } } } },
    { responses: { 200: { ...OK, content: { "application/problem+json": { schema: {} } } } } },
    /body\.a: the field may now be missing/,
  ],
  ["a new failure", { responses: { 200: OK } }, { responses: { 200: OK, 412: OK } }, null],
  ["a new success", { responses: { 200: OK } }, { responses: { 200: OK, 202: OK } }, /may now return 202, /],
  ["a removed failure", { responses: { 200: OK, 404: OK } }, { responses: { 200: OK } }, /no longer returns 404, /],
  [
    "a new header",
    { responses: { 200: OK } },
    { responses: { 200: { ...OK, headers: { ETag: { required: true } } } } },
    null,
  ],
  [
    "a removed optional header",
    { responses: { 200: { ...OK, headers: { ETag: {} } } } },
    { responses: { 200: OK } },
    /200, header ETag: the header is gone/,
  ],
  [
    "a header in another case",
    { responses: { 200: { ...OK, headers: { ETag: {} } } } },
    { responses: { 200: { ...OK, headers: { Etag: {} } } } },
    null,
  ],
  [
    "a header that is no longer required",
    { responses: { 200: { ...OK, headers: { ETag: { required: true } } } } },
    { responses: { 200: { ...OK, headers: { ETag: {} } } } },
    /200, header ETag: the header may now be missing/,
  ],
  [
    "a header with wider values",
    { responses: { 200: { ...OK, headers: { ETag: { schema: { type: "string", maxLength: 9 } } } } } },
    { responses: { 200: { ...OK, headers: { ETag: { schema: { type: "string" } } } } } },
    /200, header ETag: maxLength was 9 and is now not set/,
  ],

  [
    "another style of a list",
    { parameters: [query({ schema: { type: "array" } })] },
    { parameters: [query({ schema: { type: "array" }, explode: false })] },
    /size: the parameter is written in another style/,
  ],
  ["an operation that now needs a key", {}, { security: [{ a: [] }] }, /callers authenticate in another way/],
])("%s", (_, before, after, verdict) => {
  expectVerdict(getToy(before), getToy(after), verdict);
});

test("members of a path that are not operations are ignored", () => {
  const pathItem: PathItemObject = { summary: "A toy.", parameters: [query({})], servers: [], "x-owner": "Toys" };
  const released = api({ "/toys": { ...pathItem, get: { responses: { 200: OK } } } });
  expectVerdict(released, released, null);
  expectVerdict(released, api({ "/toys": { get: released.paths?.["/toys"]?.get ?? {} } }), /parameter size: .* gone/);
});

test("a parameter may move between the path and its operation, which takes precedence", () => {
  const onPath = (parameter: ParameterObject, own: ParameterObject[] = []) =>
    api({ "/toys": { parameters: [parameter], get: { parameters: own, responses: { 200: OK } } } });
  const onOperation = api({ "/toys": { get: { parameters: [query({})], responses: { 200: OK } } } });
  expectVerdict(onOperation, onPath(query({})), null);
  expectVerdict(onPath(query({})), onOperation, null);
  expectVerdict(onOperation, onPath(query({ required: true })), /now required/);
  expectVerdict(onOperation, onPath(query({ required: true }), [query({})]), null);
});

test("the rules of an operation take precedence over those of the document", () => {
  const locked = (operation: OperationObject) => ({ ...getToy(operation), security: [{ a: [] }] });
  expectVerdict(locked({}), getToy({ security: [{ a: [] }] }), null);
  expectVerdict(locked({ security: [] }), locked({}), /authenticate in another way/);
});

test("a reference without a target is an error that names it", () => {
  const broken = answering({ $ref: "#/components/schemas/Nothing" });
  expect(() => findBreakingChanges(broken, broken)).toThrow("#/components/schemas/Nothing does not exist");
});
