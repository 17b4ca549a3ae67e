// npm run check:compatibility: fails if the document breaks clients of the last released one, unless the change is acknowledged.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findBreakingChanges } from "./compatibility.ts";
import { parseDocument } from "./read.ts";

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
if (open.length + stale.length > 0) {
  console.error(
    "\nThe document breaks clients of openapi/released.json. Add intended changes to openapi/acknowledged.json: see docs/decisions/compatibility-check.md.",
  );
  process.exitCode = 1;
} else {
  console.log(`Compatible with the released document (${breaking.length} acknowledged changes).`);
}
