import type { OperationObject, PathItemObject, SchemaObject } from "openapi3-ts/oas31";
import { describe, expect, test } from "vitest";
import { openList } from "../../openapi/describe.ts";
import { contractOf } from "../support/contract.ts";
import { api, json, OK } from "../support/documents.ts";

const URL = "https://toys.example/v1/toys/1";

function contract(operation: OperationObject, schemas: { [name: string]: SchemaObject } = {}) {
  return contractOf(api({ "/toys/{id}": { get: operation, delete: operation } }, schemas));
}

/** Asserts whether the document describes a response. */
async function expectVerdict(
  { expectDocumented }: ReturnType<typeof contractOf>,
  answer: Response,
  verdict: "documented" | RegExp,
  method = "GET",
): Promise<void> {
  const outcome = expectDocumented(method, URL, answer);
  if (verdict === "documented") await outcome;
  else await expect(outcome).rejects.toThrow(verdict);
}

describe("a response without content", () => {
  const remove = contract({ operationId: "deleteToy", responses: { 202: OK, 204: OK } });

  test.each<[string, BodyInit | null, ResponseInit, "documented" | RegExp]>([
    ["has no body and no media type", null, { status: 204 }, "documented"],
    ["may not have a body", new TextEncoder().encode("{}"), { status: 202 }, /deleteToy 202: the body/],
    ["may not have a media type", null, { status: 204, headers: { "Content-Type": "a/b" } }, /204: the media type/],
  ])("%s", (_, body, init, verdict) => expectVerdict(remove, new Response(body, init), verdict, "DELETE"));
});

describe("a response with a media type", () => {
  const schema: SchemaObject = { type: "object", properties: { a: { type: "string" } } };
  const toy = contract({ operationId: "getToy", responses: { 200: { ...OK, ...json(schema) } } });

  test.each<[string, Response, "documented" | RegExp, method?: string]>([
    ["has a body", Response.json({ a: "b" }), "documented"],
    ["may not have another body", Response.json({ a: 1 }), /getToy 200: the body/],
    ["must have it", new Response(new TextEncoder().encode("{}")), /getToy 200: the media type/],
    ["has no body for HEAD", new Response(null, { headers: Response.json({}).headers }), "documented", "HEAD"],
  ])("%s", (_, answer, verdict, method) => expectVerdict(toy, answer, verdict, method));
});

describe("a response has no field that the document does not list", () => {
  const reference = (name: string): SchemaObject => ({ $ref: `#/components/schemas/${name}` });
  const schemas: { [name: string]: SchemaObject } = {
    Toy: { type: "object", properties: { id: { type: "integer" }, maker: reference("Maker") } },
    Maker: { type: "object", properties: { name: { type: "string" } } },
    Tree: { type: "object", properties: { parts: { type: "array", items: reference("Tree") } } },
  };
  const inline: SchemaObject = { type: "object", properties: { a: { type: "object", properties: { b: {} } } } };

  test.each<[string, SchemaObject, unknown, unknown]>([
    ["itself", reference("Toy"), { id: 1, maker: { name: "x" } }, { id: 1, extra: 1 }],
    ["in a field", reference("Toy"), { maker: { name: "x" } }, { maker: { extra: 1 } }],
    ["in a list", { type: "array", items: inline }, [{ a: {} }], [{ extra: 1 }]],
    ["without a name", inline, { a: { b: { c: 1 } } }, { a: { extra: 1 } }],
    ["of several kinds", { oneOf: [inline, { type: "null" }] }, { a: {} }, { extra: 1 }],
    ["recursive", reference("Tree"), { parts: [{ parts: [] }] }, { parts: [{ extra: 1 }] }],
  ])("%s", async (_, schema, good, bad) => {
    const toy = contract({ operationId: "getToy", responses: { 200: { ...OK, ...json(schema) } } }, schemas);
    await expectVerdict(toy, Response.json(good), "documented");
    await expectVerdict(toy, Response.json(bad), /getToy 200: the body/);
  });

  test("nor a value that an open list does not list", async () => {
    const list = { Colour: { type: "string", enum: ["red"] } } satisfies typeof schemas;
    const toy = contract({ responses: { 200: { ...OK, ...json(openList("Colour")) } } }, list);
    await expectVerdict(toy, Response.json("red"), "documented");
    await expectVerdict(toy, Response.json("blue"), /200: the body/);
  });

  test.each<SchemaObject>([{ additionalProperties: true }, { allOf: [reference("Toy")] }])(
    "%j is an error",
    (schema) => {
      const toy = contract({ responses: { 200: { ...OK, ...json(schema) } } });
      return expectVerdict(toy, Response.json({}), /objects list their fields/);
    },
  );
});

test("an operation is found beside other members of its path", () => {
  const get = { operationId: "getToy", responses: { 200: OK } };
  const pathItem: PathItemObject = { summary: "A toy.", get };
  const { findOperation } = contractOf(api({ "/toys/{id}": pathItem }));
  expect(findOperation("GET", "/v1/toys/1")).toMatchObject(get);
  expect(findOperation("HEAD", "/v1/toys/1")).toMatchObject(get);
  for (const method of ["DELETE", "SUMMARY"]) expect(findOperation(method, "/v1/toys/1")).toBeUndefined();
  expect(findOperation("GET", "/v1/toys")).toBeUndefined();
});

test("headers are found in the response and behind a reference", async () => {
  const headers = { ETag: { required: true, schema: { type: "string", pattern: '^"' } } } as const;
  const document = {
    ...api({
      "/toys/{id}": { get: { operationId: "getToy", responses: { 200: { $ref: "#/components/responses/Toy" } } } },
    }),
    components: {
      responses: { Toy: { ...OK, headers: { ...headers, Age: { $ref: "#/components/headers/Age" } } } },
      headers: { Age: { schema: { type: "integer" as const } } },
    },
  };
  const toy = contractOf(document);
  const answer = (headers: Record<string, string>) => new Response(null, { headers });
  await expectVerdict(toy, answer({ ETag: '"1"', Age: "1" }), "documented");
  await expectVerdict(toy, answer({}), /getToy 200 lacks etag/);
  await expectVerdict(toy, answer({ ETag: "1" }), /getToy 200, etag: 1/);
  await expectVerdict(toy, answer({ ETag: '"1"', Age: "x" }), /getToy 200, age: x/);
  await expectVerdict(toy, answer({ ETag: '"1"', "X-Other": "x" }), /getToy 200: headers that are not documented/);
});
