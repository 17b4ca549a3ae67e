// npm run generate:client-types: writes the types of the client from the OpenAPI document. Needs `npm run generate:public` and
// `npm ci --prefix test/third-party`.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT, originOf, readDocument } from "./client/document.ts";

const TOOL = join(import.meta.dirname, "../test/third-party/node_modules/.bin/openapi-typescript");

const types = execFileSync(TOOL, ["public/openapi.json"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
writeFileSync(join(CLIENT, "src/schema.ts"), `${originOf(readDocument())}\n${types}`);
