// npm run generate:client-types: writes the types of the client, and the fields that it looks for in a response, from the OpenAPI
// document, to another folder if one is given.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject, ReferenceObject, ResponseObject, SchemaObject } from "openapi3-ts/oas31";
import { resolve } from "../openapi/read.ts";
import { CLIENT, operationsOf, originOf, readDocument } from "./client/document.ts";

/** Has openapi-typescript. That needs TypeScript 5, so it is not among the packages of the service. */
const TOOL = join(import.meta.dirname, "client/types");
const [folder = join(CLIENT, "src")] = process.argv.slice(2);

/** Without what no program of the client reads, which is most of the document: headers, each failure, and the requests to receivers. */
function reduced(document: OpenAPIObject): OpenAPIObject {
  for (const operation of operationsOf(document)) {
    const all = Object.entries(operation.responses ?? {}) as [string, ResponseObject][];
    const [failure] = all.filter(([status]) => status >= "400");
    operation.responses = Object.fromEntries([
      ...all.filter(([status]) => status < "400").map(([status, { headers: _headers, ...rest }]) => [status, rest]),
      ...(failure ? [["default", { description: "A failure.", content: failure[1].content }]] : []),
    ]);
  }
  for (const item of Object.values(document.webhooks ?? {}))
    item.post = { operationId: item.post?.operationId ?? "", responses: {} };
  delete document.components?.headers;
  return document;
}

/** The kinds of value that a schema allows: results of `typeof`, and `null`. The client reads an int64 as a `bigint`. */
function kindsOf(schema: SchemaObject | ReferenceObject): string[] {
  const { type = [], format, anyOf = [] } = resolve<SchemaObject>(document, schema);
  const kinds = { integer: format === "int64" ? "bigint" : "number", array: "object" } as { [type: string]: string };
  return [...[type].flat().map((one) => kinds[one] ?? one), ...anyOf.flatMap(kindsOf)];
}

/** A constant with the kinds of each field of a schema. */
function fieldsOf([name, { properties = {}, required = [] }]: [string, SchemaObject]): string {
  const fields = Object.entries(properties).map(([field, schema]) => {
    const kinds = [...kindsOf(schema), ...(required.includes(field) ? [] : ["undefined"])];
    return [field, [...new Set(kinds)].join(" ")];
  });
  return `export const ${name} = ${JSON.stringify(Object.fromEntries(fields))} as const;`;
}

const document = readDocument();
const origin = originOf(document);
const all = Object.entries(document.components?.schemas ?? {}) as [string, SchemaObject][];
const fields = all.filter(([, { properties }]) => properties !== undefined).map(fieldsOf);
const input = ".dist/client-openapi.json";
mkdirSync(".dist", { recursive: true });
writeFileSync(input, JSON.stringify(reduced(document)));
execFileSync("npm", ["ci", "--no-fund", "--no-audit", "--prefix", TOOL], { stdio: ["ignore", "ignore", "inherit"] });
const types = execFileSync(join(TOOL, "node_modules/.bin/openapi-typescript"), [input], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
writeFileSync(join(folder, "schema.ts"), `${origin}\n${types}`);
writeFileSync(join(folder, "fields.ts"), `${origin}\n${fields.join("\n")}\n`);
