import { expect, test } from "vitest";
import { document } from "../../openapi/document.ts";
import { parseDocument } from "../../openapi/read.ts";
import { referenceDocument } from "../../openapi/reference.ts";

const BEYOND_DOUBLE = 9_007_199_254_740_993n;

const reference = JSON.parse(referenceDocument(document));
const operations: [string, Record<string, any>][] = Object.entries(reference.paths).flatMap(([path, item]) =>
  Object.entries(item as object).map(([method, operation]): [string, Record<string, any>] => [
    `${method} ${path}`,
    operation,
  ]),
);

test("the copy has no number that a browser rounds", () => {
  JSON.stringify(parseDocument(referenceDocument(document)), (name, value: unknown) => {
    expect(typeof value, name).not.toBe("bigint");
    return value;
  });
});

test("an example is a JSON text with exact integers", () => {
  const { paths } = parseDocument(JSON.stringify(document));
  const example = { name: "Rex", categoryId: BEYOND_DOUBLE };
  const content = { "application/json": { schema: {}, examples: { example: { value: example } } } };
  const withLargeIntegers = {
    ...document,
    paths: {
      "/pets": { ...paths?.["/pets"], post: { operationId: "createPet", responses: {}, requestBody: { content } } },
    },
  };
  const { post } = JSON.parse(referenceDocument(withLargeIntegers)).paths["/pets"];
  expect(post.requestBody.content["application/json"].examples.example.serializedValue).toBe(
    '{\n  "name": "Rex",\n  "categoryId": 9007199254740993\n}',
  );
  for (const { source } of post["x-codeSamples"].slice(1))
    expect(source).toContain('{"name":"Rex","categoryId":9007199254740993}');
});

test.each(operations)("%s has a badge unless it is stable, and samples that name its address", (route, operation) => {
  const [method = "", path = ""] = route.split(" ");
  const names = (operation["x-badges"] ?? []).map(({ name }: { name: string }) => name.toLowerCase());
  expect(names).toEqual(operation["x-stability"] === "stable" ? [] : [operation["x-stability"]]);
  const [first, ...others] = operation["x-codeSamples"];
  expect(first.label).toBe("TypeScript");
  const takesKey = operation["parameters"].some(({ name }: { name?: string }) => name === "Idempotency-Key");
  for (const { label, source } of others) {
    expect(source.includes("Idempotency-Key"), label).toBe(takesKey);
    // Whatever the id of the example is.
    expect(source.replace(/\/\d+(?=[/"])/, "/1"), label).toContain(`{base}${path.replace(/\{\w+\}/, "1")}"`);
    if (method !== "get") expect(source, label).toContain(method.toUpperCase());
  }
});

test.each(operations)("%s links to the advice on each of its error codes", (_route, operation) => {
  const responses: { content?: any }[] = Object.values(operation["responses"]);
  const examples = responses.flatMap(({ content }) => Object.values(content?.["application/json"]?.examples ?? {}));
  const codes = (examples as { serializedValue: string }[])
    .map(({ serializedValue }) => JSON.parse(serializedValue).code)
    .filter((code) => code !== undefined);
  expect(codes).toContain("invalid_request");
  for (const code of codes) expect(operation["description"]).toContain(`[\`${code}\`](/docs/errors#${code})`);
});

test("the length of an Idempotency-Key is that of the key, not of the header", () => {
  const { parameters } = reference.paths["/pets"].post;
  const { schema } = parameters.find(({ name }: { name?: string }) => name === "Idempotency-Key");
  expect(schema).toMatchObject({ minLength: 1, maxLength: 255 });
});
