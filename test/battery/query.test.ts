import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { ROWS } from "../../register/operations.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { generateKey } from "../../src/auth/key-format.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

test.each(OPERATIONS)("the document shows an invalid_request of $name", async ({ name, path, template, request }) => {
  const operations: { [path: string]: { [method: string]: object } } = document.paths;
  const described = operations[template.slice("/v1".length)]?.[request.method?.toLowerCase() ?? ""];
  const { responses } = described as (typeof document.paths)["/pets"]["get"];
  const { message } = responses[400].content["application/json"].examples.invalid_request.value;
  const body = request.body === undefined ? undefined : ROWS[name].invalid;
  const query =
    name === "listOrders"
      ? "?petId=1&reference=a&customer=b"
      : message.startsWith("limit")
        ? "?limit=0"
        : "?dryRun=true";
  const sent = { ...request, key, ...(body === undefined ? {} : { body }) };
  expect(await expectError(await call(body === undefined ? path + query : path, sent), "invalid_request")).toBe(
    message,
  );
});

/** Parameters that may be repeated. */
const LISTS = new Set(["id", "type"]);

describe.each(OPERATIONS)("$name", ({ path, scope, request, queryParameters }) => {
  const takes =
    queryParameters.length === 0
      ? "This operation takes no query parameters."
      : `This operation takes the query parameters ${queryParameters.join(", ")}.`;

  // Promise: undeclared-parameters-are-refused, undeclared-since-1-1
  test("refuses a query parameter that it does not declare", async () => {
    const message = await expectError(await call(`${path}?dryRun=true`, { ...request, key }), "invalid_request");
    expect(message).toBe(`dryRun is unknown. ${takes}`);
  });

  test.each(queryParameters.filter((name) => !LISTS.has(name)))("says that %s may be sent once", async (name) => {
    const query = `${name}=1&%${name.charCodeAt(0).toString(16)}${name.slice(1)}=2`;
    const message = await expectError(await call(`${path}?${query}`, { ...request, key }), "invalid_request");
    expect(message).toContain(`${name} has to be sent once: `);
  });

  // Promise: names-come-first, order-of-checks
  test("checks key, scope and rate limit before, and media type and body after", async () => {
    await expectError(await call(`${path}?dryRun=true`, request), "unauthorized");
    const scopeless = await grantKey({ scopes: [] });
    const refusal = scope === undefined ? "invalid_request" : "insufficient_scope";
    await expectError(await call(`${path}?dryRun=true`, { ...request, key: scopeless }), refusal);
    const bindings = { RATE_LIMITER: { limit: () => Promise.resolve({ success: false }) } };
    await expectError(await call(`${path}?dryRun=true`, { ...request, key, bindings }), "rate_limited");
    if (request.body === undefined) return;
    const text = { ...request, body: "{", headers: { "Content-Type": "text/plain" } };
    await expectError(await call(`${path}?dryRun=true`, { ...text, key }), "invalid_request");
  });
});

const refusal = async (query: string, path = "/v1/pets") =>
  expectError(await call(`${path}?${query}`, { key }), "invalid_request");
const TAKES = "This operation takes the query parameters limit, cursor, sort, include, status, categoryId, id, q.";

test.each([
  ["staus=sold", "staus is unknown."],
  ["limit=5&Limit=5&types=x", "Limit is unknown; types is unknown."],
  ["page=2&page=3", "page is unknown."],
  ["__proto__=x&constructor=y&toString", "__proto__ is unknown; constructor is unknown; toString is unknown."],
  ["filter[status]=sold", "filter[status] is unknown."],
  ["id[]=2&id[]=8", "id[] has to be id, without brackets (a list repeats its parameter: id=2&id=8)."],
  [
    "id%5B0%5D=2&id%5B1%5D=8&x=1",
    "id[] has to be id, without brackets (a list repeats its parameter: id=2&id=8); x is unknown.",
  ],
  ["status[]=sold", "status[] has to be status, without brackets (a list repeats its parameter: id=2&id=8)."],
  ["%3Cb%3E=1", "a query parameter is unknown."],
  ["=x", "a query parameter is unknown."],
  ["limit=1&=x", "a query parameter is unknown."],
  ["a%00b=1&a%20b=1&sort%FF=id", "a query parameter is unknown."],
  [`${"x".repeat(40)}=1`, `${"x".repeat(40)} is unknown.`],
  [`${"x".repeat(41)}=1`, "a query parameter is unknown."],
  [`id[${"0".repeat(38)}]=1`, "a query parameter is unknown."],
])("GET /v1/pets?%s is refused", async (query, message) => {
  expect(await refusal(query)).toBe(`${message} ${TAKES}`);
});

// Promise: every-invalid-field
test("at most ten names are listed", async () => {
  const names = Array.from({ length: 12 }, (_, i) => `x${i}`);
  const listed = names.slice(0, 10).map((name) => `${name} is unknown`);
  expect(await refusal(names.join("=1&"))).toBe(`${listed.join("; ")}; and 2 more. ${TAKES}`);
});

test("an API key that is sent as a parameter is not repeated", async () => {
  for (const environment of ["local", "staging", "production"] as const) {
    expect(await refusal(`${generateKey(environment)}=`)).toMatch(/^a query parameter is unknown\./);
  }
});

test.each(["", "&", "&&limit=1&", "%6Cimit=1", "lim%69t=1", "limit=1#?page=2", "id=2&id=3&%69d=4"])(
  "GET /v1/pets?%s has only declared parameters",
  async (query) => {
    await expectJson(await call(`/v1/pets?${query}`, { key }), 200);
  },
);

test("paths without an operation ignore the query", async () => {
  await expectJson(await call("/health?dryRun=true", { bindings: { VERSION: env.VERSION } }), 200);
  await expectError(await call("/v1/nothing?dryRun=true", { key }), "not_found");
  await expectError(await call("/v1/pets?dryRun=true", { method: "DELETE", key }), "method_not_allowed");
});
