// npm run generate:client-types: writes the types of the client from the OpenAPI document.
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT, originOf, readDocument } from "./client/document.ts";

const TOOL = join(import.meta.dirname, "../test/third-party/node_modules/.bin/openapi-typescript");

// It needs TypeScript 5, so it is not among the packages of the service.
if (!existsSync(TOOL)) {
  console.error("openapi-typescript is not installed. Run npm ci --prefix test/third-party.");
  process.exit(1);
}

const types = execFileSync(TOOL, ["public/openapi.json"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
writeFileSync(join(CLIENT, "src/schema.ts"), `${originOf(readDocument())}\n${types}`);
