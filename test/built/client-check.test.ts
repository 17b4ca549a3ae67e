import { copyFileSync, appendFileSync, cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject, SchemaObject } from "openapi3-ts/oas31";
import { expect, onTestFinished, test } from "vitest";
import { originOf } from "../../scripts/client/document.ts";
import { type ClientSource, findFaults } from "../../scripts/client/faults.ts";
import { findPackageFaults } from "../../scripts/client/released.ts";
import { readPackages, RELEASED } from "../../openapi/packages.ts";
import { temporaryFolder } from "./folder.ts";

function toys(operation: object = {}, weight: SchemaObject = { type: "integer", format: "int32" }): OpenAPIObject {
  const getToy = { operationId: "getToy", "x-stability": "stable", responses: {}, ...operation };
  return {
    openapi: "3.1.0",
    info: { title: "Toys", version: "1" },
    paths: { "/toys": { get: getToy } },
    components: {
      schemas: { Toy: { type: "object", properties: { id: { type: "integer", format: "int64" }, weight } } },
    },
  };
}

const code = (operationId: string) => `
  async get(options: RequestOptions = {}): Promise<Toy> {
    return get<Toy>(this.#scope, "${operationId}", "/toys", options);
  }
`;
const method = (comment: string) => `/** ${comment} */${code("getToy")}`;

function faultsOf(document: OpenAPIObject, source: Partial<ClientSource> = {}): string[] {
  const types = `${originOf(document)}\nexport type Toy = {};\n`;
  return findFaults(document, { methods: method("Fetches a toy."), types, int64Fields: ["id"], ...source });
}

test("a client that agrees with the document has no faults", () => {
  expect(faultsOf(toys())).toEqual([]);
  expect(faultsOf(toys({ "x-stability": "beta" }), { methods: method("@beta") })).toEqual([]);
});

test("an operation has a method with a doc comment of its own", () => {
  const other = toys({ operationId: "listToys" });
  const document = { ...toys(), paths: { ...toys().paths, "/other": other.paths?.["/toys"] ?? {} } };
  const faults = ["getToy", "listToys"].map((id) => `The client has no method with a doc comment for ${id}.`);
  const types = originOf(document);
  expect(faultsOf(document, { types, methods: method("Fetches a toy.") + code("listToys") })).toEqual(faults);
  expect(faultsOf(document, { types, methods: "" })).toEqual(faults);
});

test.each([
  [{ "x-stability": "experimental" }, "@beta", ["should not have @beta", "lacks @experimental"]],
  [{ deprecated: true }, "", ["lacks @deprecated"]],
])("%j with the comment %j is a fault", (operation, comment, differences) => {
  expect(faultsOf(toys(operation), { methods: method(comment) })).toEqual(
    differences.map((difference) => `The comment of the method for getToy ${difference}.`),
  );
});

test("types generated from another document are stale", () => {
  const types = originOf(toys({ summary: "Fetch" }));
  expect(faultsOf(toys(), { types })).toEqual(["client/src/schema.ts is stale. Run npm run generate:client-types."]);
});

test("the fields of the client are those with format int64, everywhere in the document", () => {
  const heavy = toys({}, { type: "integer", format: "int64" });
  expect(faultsOf(heavy, { int64Fields: ["id", "height"] })).toEqual([
    "height is in INT64_FIELDS of client/src/int64.ts, but does not always have format int64.",
    "weight has format int64. Add it to INT64_FIELDS of client/src/int64.ts, or use int32 if that is enough.",
  ]);
  expect(faultsOf(toys(), { int64Fields: ["id", "weight"] })).toEqual([
    "weight is in INT64_FIELDS of client/src/int64.ts, but does not always have format int64.",
  ]);
});

test("a text in a response may have the name of a 64-bit field, and one in a request may not", () => {
  const document = toys();
  const properties = { id: { type: "string" } } as const;
  const components = { schemas: { ...document.components?.schemas, Sale: { type: "object", properties } } } as const;
  const fault = "id is in INT64_FIELDS of client/src/int64.ts, but does not always have format int64.";
  const faultsWith = (operation: object) => {
    const sold = { ...toys(operation), components };
    return faultsOf(sold, { types: originOf(sold) });
  };
  expect(faultsWith({})).toEqual([]);
  expect(faultsWith({ parameters: [{ name: "id", in: "query", schema: { type: "string" } }] })).toEqual([fault]);
  const schema = { $ref: "#/components/schemas/Sale" };
  expect(faultsWith({ requestBody: { content: { "application/json": { schema } } } })).toEqual([fault]);
});

// Promise: packages-never-change
test("a released package never changes", () => {
  const folder = temporaryFolder(onTestFinished);
  cpSync(RELEASED, folder, { recursive: true });
  const { file, version } = readPackages().at(-1) ?? expect.unreachable();
  expect(findPackageFaults(folder, version)).toEqual([]);
  expect(findPackageFaults(folder, "99.0.0")).toEqual([
    "The newest package is not that of version 99.0.0. Run npm run pack:client.",
  ]);
  copyFileSync(join(folder, file), join(folder, "petstore-client-99.0.0.tgz"));
  expect(findPackageFaults(folder, version)).toEqual([
    "client/released/petstore-client-99.0.0.tgz has no digest in SHA256SUMS. Run npm run pack:client.",
  ]);
  rmSync(join(folder, "petstore-client-99.0.0.tgz"));
  appendFileSync(join(folder, file), "x");
  expect(findPackageFaults(folder, version)).toEqual([
    `client/released/${file} has changed. Lock files of clients have its digest: restore it.`,
  ]);
  rmSync(join(folder, file));
  expect(findPackageFaults(folder, version)).toEqual([
    `client/released/${file} is gone. Lock files of clients name it: restore it.`,
  ]);
});
