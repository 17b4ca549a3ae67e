// npm run check:client: builds the client. Fails when it lacks an operation of the OpenAPI document or has another stability for
// it, when its types are stale, when a 64-bit field is missing, when it exceeds its budget, or when a released package has changed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import packageJson from "../client/package.json" with { type: "json" };
import { INT64_FIELDS } from "../client/src/int64.ts";
import { RELEASED } from "../openapi/packages.ts";
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
  // The README promises it. It leaves room for some fields and operations, which would otherwise ask for denser code elsewhere.
  // Promise: size
  const { outputFiles } = buildSync({
    entryPoints: [join(CLIENT, "dist/index.js")],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  const size = gzipSync(outputFiles[0]?.contents ?? "").length / 1024;
  const [, budget] = /less than ([\d.]+) KiB after minification/.exec(read("../README.md")) ?? [];
  console.log(`client: ${size.toFixed(2)} KiB gzip of ${budget} KiB, ${operationsOf(document).length} operations`);
  if (!(size < Number(budget))) faults.push("The client is larger than client/README.md promises.");
} else {
  faults.push("The client does not compile.");
}

faults.push(...findPackageFaults(RELEASED, packageJson.version));
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
