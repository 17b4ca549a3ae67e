// npm run check:client: builds the client. Fails when it lacks an operation of the OpenAPI document or tells another stability, when
// its types are stale, when a 64-bit field is missing, or when it is over its budget.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { INT64_FIELDS } from "../client/src/int64.ts";
import { clientSize } from "./client/build.ts";
import { CLIENT, fieldNames, operationsOf, originOf, readDocument } from "./client/document.ts";

/** Bytes of the whole client in a minified bundle, after gzip. */
const BUDGET_BYTES = 5 * 1024;

/** A doc comment with the method below it, up to the operation id that it sends. */
const METHOD =
  /\/\*\*(?<comment>(?:(?!\*\/)[^])*)\*\/\s+(?:async )?\w+\((?:(?!\/\*\*)[^])*?this\.#scope, (?:\{ operation: )?"(?<operationId>\w+)"/g;

const document = readDocument();
const faults: string[] = [];

const methods = ["pets", "categories", "orders"].flatMap((group) => [
  ...readFileSync(join(CLIENT, `src/${group}.ts`), "utf8").matchAll(METHOD),
]);
const comments = new Map(methods.map(({ groups = {} }) => [groups["operationId"], groups["comment"] ?? ""]));
for (const { operationId, deprecated = false, "x-stability": stability } of operationsOf(document)) {
  const comment = comments.get(operationId);
  if (comment === undefined) {
    faults.push(`The client has no method for ${operationId}.`);
    continue;
  }
  for (const [tag, expected] of [
    ["@deprecated", deprecated],
    ["@beta", stability === "beta"],
    ["@experimental", stability === "experimental"],
  ] as const) {
    if (comment.includes(tag) !== expected) {
      faults.push(`The comment of the method for ${operationId} ${expected ? "lacks" : "should not have"} ${tag}.`);
    }
  }
}

if (readFileSync(join(CLIENT, "src/schema.ts"), "utf8").split("\n", 1)[0] !== originOf(document)) {
  faults.push("client/src/schema.ts is stale. Run npm run generate:client-types.");
}

const { int64, other } = fieldNames(document);
for (const name of INT64_FIELDS) {
  if (!int64.has(name) || other.has(name)) faults.push(`${name} is in INT64_FIELDS, but not always a 64-bit integer.`);
  int64.delete(name);
}
for (const name of int64) faults.push(`INT64_FIELDS lacks ${name}.`);

const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", CLIENT], { stdio: "inherit" });
if (status === 0) {
  const size = await clientSize(`export * from "./index.js";`);
  console.log(
    `client: ${(size / 1024).toFixed(1)} KiB gzip of ${BUDGET_BYTES / 1024} KiB, ${comments.size} operations`,
  );
  if (size > BUDGET_BYTES) faults.push("The client is over its budget.");
} else {
  faults.push("The client does not compile.");
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
