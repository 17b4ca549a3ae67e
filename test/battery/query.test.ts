import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
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

interface Parameters {
  [path: string]: { get?: { parameters: { name?: string; schema?: { type?: string } }[] } };
}
/** The parameters that are lists, each with its path. That of the live feed is the one of the feed, and has no `limit`. */
const LISTS = Object.entries(document.paths as Parameters).flatMap(([path, { get }]) =>
  (get?.parameters ?? []).flatMap(({ name = "", schema }) => (schema?.type === "array" ? [[`/v1${path}`, name]] : [])),
) as [path: string, name: string][];
const isList = (path: string, parameter: string) => LISTS.some(([at, name]) => at === path && name === parameter);

describe.each(OPERATIONS)("$name", ({ path, template, scope, request, queryParameters }) => {
  const takes =
    queryParameters.length === 0
      ? "This operation takes no query parameters."
      : `This operation takes the query parameters ${queryParameters.join(", ")}.`;

  // Promise: undeclared-parameters-are-refused, undeclared-since-1-1
  test("refuses a query parameter that it does not declare", async () => {
    const message = await expectError(await call(`${path}?dryRun=true`, { ...request, key }), "invalid_request");
    expect(message).toBe(`dryRun is unknown. ${takes}`);
  });

  test.each(queryParameters.filter((name) => !isList(template, name)))(
    "takes %s once, and in one form",
    async (name) => {
      const refused = async (query: string) =>
        expectError(await call(`${path}?${query}`, { ...request, key }), "invalid_request");
      const query = `${name}=1&%${name.charCodeAt(0).toString(16)}${name.slice(1)}=2`;
      expect(await refused(query)).toContain(`${name} has to be sent once: `);
      for (const form of [`${name}[]=1`, `${name}[0]=1`, `${name}%5B%5D=1`])
        expect(await refused(form)).toBe(
          `${decodeURIComponent(form).slice(0, -2)} has to be ${name}, without brackets. ${takes}`,
        );
      // Texts that may have a comma.
      if (!["q", "reference", "customer", "externalId"].includes(name)) await refused(`${name}=1,1`);
    },
  );

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

/** Values of each list, with a value that it refuses. */
const VALUES: { [list: string]: [a: string, b: string, c: string, wrong: string] } = {
  "/v1/pets id": ["1", "2", "8", "01"],
  "/v1/events type": ["pet.created", "pet.updated", "category.created", "pet.moved"],
};

test("these are the lists", () =>
  expect(LISTS.map((list) => list.join(" ")).toSorted()).toEqual(
    [...Object.keys(VALUES), "/v1/events/live type"].toSorted(),
  ));

// Promise: lists-in-every-form
describe.each(LISTS.filter((list) => list.join(" ") in VALUES))("%s?%s=", (path, list) => {
  const [a, b, c, wrong] = VALUES[`${path} ${list}`] ?? ["", "", "", ""];
  /** A query with `n` for the name of the list. */
  const get = (query: string) => call(`${path}?limit=1&${query.replaceAll(/n(?=[=[%])/g, list)}`, { key });

  beforeAll(async () => {
    const body = Array.from({ length: 8 }, () => ({ name: "Rex", categoryId: 1 }));
    await call("/v1/pets/batch", { method: "POST", key, body });
  });

  test.each([
    [`n=${a},${b},${c}`],
    [`n=${a}%2C${b}%2C${c}`],
    [`n=${a}%2c${b}%2c${c}`],
    [`n[]=${a}&n[]=${b}&n[]=${c}`],
    [`n[0]=${a}&n[1]=${b}&n[2]=${c}`],
    [`n[]=${a},${b}&n=${c}`],
    [`n=${a}&n%5B%5D=${b}&n%5B9999%5D=${c}`],
    [`n=${a}&n%5b%5d=${b}&n=${c}`],
    // The order is that of the query, whatever the names are.
    [`n=${a}&n[7]=${b}&n=${c}`],
  ])("%s is the one form", async (query) => {
    const [expected, found] = [await get(`n=${a}&n=${b}&n=${c}`), await get(query)];
    expect(found.headers.get("Link")).toBe(expected.headers.get("Link"));
    const text = await expected.text();
    expect(await found.text()).toBe(text);
    expect(text).toContain('"name":"Rex"');
    // A list of the feed has no link.
    const values = path === "/v1/events" ? null : expect.stringContaining(`${list}=${a}&${list}=${b}&${list}=${c}&`);
    expect(found.headers.get("Link")).toEqual(values);
  });

  test.each(["n=", "n[]=", "n[0]=", "n[]", `n=${a},`, `n=,${a}`, `n=${a},,${b}`, `n=${a},%20${b}`, `n=${a};${b}`])(
    "%s has an empty or a bad value",
    async (query) => {
      expect(await expectError(await get(query), "invalid_request")).toMatch(
        new RegExp(`^${list} has to be 1 to 100 `),
      );
    },
  );

  test("a bad value is refused in every form, and so are more than a hundred", async () => {
    for (const query of [`n=${a},${wrong}`, `n[]=${wrong}`, `n=${a}&n[0]=${wrong}`, `n=${Array(101).fill(a).join()}`])
      expect(await expectError(await get(query), "invalid_request")).toMatch(
        new RegExp(`^${list} has to be 1 to 100 `),
      );
    expect((await get(`n=${Array(50).fill(a).join()}&n[]=${Array(50).fill(b).join()}`)).status).toBe(200);
  });

  test.each(["n[x]", "n[-1]", "n[0][]", "n[00000]", "n[", "n[]x", "n[1.0]"])("%s is no form of it", async (name) => {
    const message = await expectError(await get(`${name}=${a}`), "invalid_request");
    const shown = name.replace("n", list);
    expect(message).toMatch(RegExp(`^${RegExp.escape(`${shown} has to be ${list}, ${list}[] or ${list}[0].`)} `));
  });
});

const refusal = async (query: string, path = "/v1/pets") =>
  expectError(await call(`${path}?${query}`, { key }), "invalid_request");
const TAKES =
  "This operation takes the query parameters limit, cursor, sort, include, status, categoryId, id, q, externalId.";

test.each([
  ["staus=sold", "staus is unknown."],
  ["limit=5&Limit=5&types=x", "Limit is unknown; types is unknown."],
  ["page=2&page=3", "page is unknown."],
  ["__proto__=x&constructor=y&toString", "__proto__ is unknown; constructor is unknown; toString is unknown."],
  ["filter[status]=sold", "filter[status] is unknown."],
  ["id%5B%5D=2&ids=8&id=3,4", "ids is unknown."],
  ["status[]=sold&x=1,2", "status[] has to be status, without brackets; x is unknown."],
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
