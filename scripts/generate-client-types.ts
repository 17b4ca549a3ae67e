// npm run generate:client-types: writes the types of the client from the OpenAPI document, to another file if one is given.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLIENT, originOf, readDocument } from "./client/document.ts";

/** Has openapi-typescript. That needs TypeScript 5, so it is not among the packages of the service. */
const TOOL = join(import.meta.dirname, "client/types");
const [file = join(CLIENT, "src/schema.ts")] = process.argv.slice(2);

execFileSync("npm", ["ci", "--no-fund", "--no-audit", "--prefix", TOOL], { stdio: ["ignore", "ignore", "inherit"] });
const types = execFileSync(join(TOOL, "node_modules/.bin/openapi-typescript"), ["public/openapi.json"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
writeFileSync(file, `${originOf(readDocument())}\n${types}`);
