import type {
  ContentObject,
  HeadersObject,
  OperationObject,
  ParameterObject,
  ResponsesObject,
} from "openapi3-ts/oas31";
import { expect, test } from "vitest";
import { findBreakingChanges } from "../../../openapi/compatibility.ts";
import { answering, api, expectVerdict, getToy, json, OK, type Verdict } from "../../support/documents.ts";

const query = (parameter: Partial<ParameterObject> = {}): ParameterObject => ({
  name: "size",
  in: "query",
  schema: { type: "integer" },
  ...parameter,
});
const PATCH = "application/merge-patch+json";
/** Operations: with this parameter, this body in these media types, and these responses. */
const asking = (parameter: Partial<ParameterObject> = {}): OperationObject => ({ parameters: [query(parameter)] });
const taking = (content: ContentObject, more: object = {}): OperationObject => ({ requestBody: { content, ...more } });
const giving = (responses: ResponsesObject): OperationObject => ({ responses });
const withHeaders = (headers: HeadersObject) => giving({ 200: { ...OK, headers } });
const withContent = (content: ContentObject) => giving({ 200: { ...OK, content } });
const JSON_BODY = json({}).content;
const REQUIRED = { required: true };

// Promise: marks-become-more-stable, no-breaking-changes
test.each<[string, OperationObject, OperationObject, Verdict]>([
  // Parameters
  ["a new optional parameter", {}, asking(), null],
  [
    "a new required header parameter",
    {},
    asking({ in: "header", required: true }),
    /header parameter size: .* now required/,
  ],
  [
    "a parameter that becomes required",
    asking(),
    asking(REQUIRED),
    /parameter size: the parameter is now required, so requests without it are refused/,
  ],
  ["a parameter that becomes optional", asking(REQUIRED), asking(), null],
  ["a removed parameter", asking(), {}, /query parameter size: the parameter is gone/],
  ["a parameter that moves", asking(), asking({ in: "header" }), /query parameter size: .* is gone/],
  ["a stricter parameter", asking(), asking({ schema: { type: "integer", maximum: 5 } }), /size: maximum was not set/],
  ["a looser parameter", asking({ schema: { maximum: 5 } }), asking({ schema: { maximum: 6 } }), null],

  // Request bodies
  ["a new optional body", {}, taking(json({ required: ["a"] }).content), null],
  [
    "a new required body",
    {},
    taking(JSON_BODY, REQUIRED),
    /^GET \/toys\/\{id\}: a request body is now required, so requests without one are/,
  ],
  ["a body that becomes required", taking(JSON_BODY), taking(JSON_BODY, REQUIRED), /a request body is now required/],
  ["a body that becomes optional", taking(JSON_BODY, REQUIRED), taking(JSON_BODY), null],
  ["a removed body", taking(JSON_BODY), {}, /application\/json is no longer accepted/],
  ["a new media type of requests", taking(JSON_BODY), taking({ ...JSON_BODY, [PATCH]: {} }), null],
  [
    "a removed one",
    taking({ ...JSON_BODY, [PATCH]: {} }),
    taking(JSON_BODY),
    /merge-patch\+json is no longer accepted/,
  ],
  [
    "a stricter body of another media type",
    taking({ [PATCH]: { schema: { type: ["string", "null"] } } }),
    taking({ [PATCH]: { schema: { type: "string" } } }),
    /request body: may no longer be of type null/,
  ],

  // Responses
  ["the same response without content", giving({ 204: OK }), giving({ 204: OK }), null],
  ["a response that loses its content", withContent(JSON_BODY), withContent({}), /200, body: app.* is no longer sent/],
  ["a response of another media type", withContent(JSON_BODY), withContent({ "text/csv": {} }), /is no longer sent/],
  [
    "a changed response of another media type",
    withContent({ "application/problem+json": { schema: { required: ["a"] } } }),
    withContent({ "application/problem+json": { schema: {} } }),
    /body\.a: the field may now be missing/,
  ],
  ["a new failure", giving({ 200: OK }), giving({ 200: OK, 412: OK }), null],
  ["a new success", giving({ 200: OK }), giving({ 200: OK, 202: OK }), /may now return 202, /],
  ["a removed failure", giving({ 200: OK, 404: OK }), giving({ 200: OK }), /no longer returns 404, /],
  ["a new header", withHeaders({}), withHeaders({ ETag: REQUIRED }), null],
  ["a removed optional header", withHeaders({ ETag: {} }), withHeaders({}), /200, header ETag: the header is gone/],
  ["a header that may be missing", withHeaders({ ETag: REQUIRED }), withHeaders({ ETag: {} }), /ETag: .* be missing/],
  [
    "a header with wider values",
    withHeaders({ ETag: { schema: { type: "string", maxLength: 9 } } }),
    withHeaders({ ETag: { schema: { type: "string" } } }),
    /200, header ETag: maxLength was 9 and is now not set/,
  ],

  ["an operation that now needs a key", {}, { security: [{ a: [] }] }, /callers authenticate in another way/],
])("%s", (_, before, after, verdict) => {
  expectVerdict(getToy(before), getToy(after), verdict);
});

test("operations to which their path or their document adds something are an error", () => {
  const get = { responses: { 200: OK } };
  for (const document of [api({ "/toys": { parameters: [query()], get } }), { ...getToy({}), security: [{ a: [] }] }])
    expect(() => findBreakingChanges(document, document)).toThrow(/^The operations at \/toys\S* are not whole\.$/);
});

test("a parameter in another style is an error", () => {
  const document = getToy(asking({ explode: false }));
  expect(() => findBreakingChanges(document, document)).toThrow("does not know explode of a parameter");
});

test("a reference without a target is an error that names it", () => {
  const broken = answering({ $ref: "#/components/schemas/Nothing" });
  expect(() => findBreakingChanges(broken, broken)).toThrow("#/components/schemas/Nothing does not exist");
});
