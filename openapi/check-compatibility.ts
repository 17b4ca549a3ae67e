// npm run check:compatibility: fails if the document breaks clients of the last released one, unless the change is acknowledged, and if
// the changelog says nothing about an operation, a field or a value that is new since.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SchemaObject } from "openapi3-ts/oas31";
import { findBreakingChanges } from "./compatibility.ts";
import { operationsOf, parseDocument } from "./read.ts";

const read = (file: string) => readFileSync(join(import.meta.dirname, file), "utf8");

const released = parseDocument(read("released.json"));
const current = parseDocument(read("../public/openapi.json"));
/** The sentence of each intended change, with the reason. */
const acknowledged = JSON.parse(read("acknowledged.json")) as { [change: string]: string };

const breaking = findBreakingChanges(released, current);
const open = breaking.filter((change) => !(change in acknowledged));
const stale = Object.keys(acknowledged).filter((change) => !breaking.includes(change));
for (const change of open) console.error(change);
for (const change of stale) console.error(`This acknowledged change does not exist: ${change}`);
const [notes = ""] = /^## \[Unreleased\]\n(?:(?!## ).*\n?)*/m.exec(read("../CHANGELOG.md")) ?? [];
const known = operationsOf(released);
for (const [route, { operationId = "" }] of operationsOf(current)) {
  if (known.has(route) || [operationId, route.replace(" ", " /v1")].some((name) => notes.includes(`\`${name}\``)))
    continue;
  console.error(`CHANGELOG.md says nothing about ${operationId} under Unreleased.`);
  process.exitCode = 1;
}
/** The fields of a schema, and the values that it lists. */
const partsOf = ({ properties = {}, enum: values = [] }: SchemaObject): string[] => [
  ...Object.keys(properties),
  ...values.map(String),
];
for (const [schema, before] of Object.entries(released.components?.schemas ?? {})) {
  const after = current.components?.schemas?.[schema] ?? {};
  for (const part of partsOf(after as SchemaObject)) {
    if (partsOf(before as SchemaObject).includes(part) || notes.includes(`\`${part}\``)) continue;
    console.error(`CHANGELOG.md says nothing about ${part} of ${schema} under Unreleased.`);
    process.exitCode = 1;
  }
}
if (open.length + stale.length > 0) {
  console.error(
    "\nThe document breaks clients of openapi/released.json. Add intended changes to openapi/acknowledged.json: see docs/decisions/compatibility-check.md.",
  );
  process.exitCode = 1;
} else {
  console.log(`Compatible with the released document (${breaking.length} acknowledged changes).`);
}
