// npm run generate:client-types: writes the types of the client from the OpenAPI document, to another file if one is given.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject, ResponseObject } from "openapi3-ts/oas31";
import { CLIENT, operationsOf, originOf, readDocument } from "./client/document.ts";

/** Has openapi-typescript. That needs TypeScript 5, so it is not among the packages of the service. */
const TOOL = join(import.meta.dirname, "client/types");
const [file = join(CLIENT, "src/schema.ts")] = process.argv.slice(2);

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

const document = readDocument();
const origin = originOf(document);
const input = ".dist/client-openapi.json";
mkdirSync(".dist", { recursive: true });
writeFileSync(input, JSON.stringify(reduced(document)));
execFileSync("npm", ["ci", "--no-fund", "--no-audit", "--prefix", TOOL], { stdio: ["ignore", "ignore", "inherit"] });
const types = execFileSync(join(TOOL, "node_modules/.bin/openapi-typescript"), [input], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
writeFileSync(file, `${origin}\n${types}`);
