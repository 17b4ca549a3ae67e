// npm run check:client: builds the client. Fails when it lacks an operation of the OpenAPI document or has another stability for
// it, when its types are stale, when a 64-bit field is missing, when it exceeds its budget, or when a released package has changed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../client/package.json" with { type: "json" };
import { INT64_FIELDS } from "../client/src/int64.ts";
import { RELEASED } from "../openapi/packages.ts";
import { BUDGET_BYTES, clientSize } from "./client/build.ts";
import { CLIENT, operationsOf, readDocument } from "./client/document.ts";
import { findFaults } from "./client/faults.ts";
import { findPackageFaults } from "./client/released.ts";

const read = (file: string) => readFileSync(join(CLIENT, "src", file), "utf8");

const document = readDocument();
const faults = findFaults(document, {
  methods: ["index.ts", "pets.ts", "categories.ts", "orders.ts", "events.ts", "webhooks.ts"].map(read).join("\n"),
  types: read("schema.ts"),
  int64Fields: INT64_FIELDS,
});

const compiles = ["", "src/command"].every((project) => {
  const args = ["node_modules/typescript/bin/tsc", "-p", join(CLIENT, project)];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status === 0;
});
if (compiles) {
  // Promise: size
  const size = await clientSize(`export * from "./index.js";`);
  const operations = operationsOf(document).length;
  console.log(`client: ${(size / 1024).toFixed(1)} KiB gzip of ${BUDGET_BYTES / 1024} KiB, ${operations} operations`);
  if (size > BUDGET_BYTES)
    faults.push(`The client has ${size} bytes, more than BUDGET_BYTES of scripts/client/build.ts, ${BUDGET_BYTES}.`);
} else {
  faults.push("The client does not compile.");
}

faults.push(...findPackageFaults(RELEASED, packageJson.version));
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
