// npm run generate:docs: writes the generated tables into the pages of docs/. npm run check:docs: fails when a table is stale,
// when a number is not in the code that it links to, when a link is broken, when an npm script does not exist, or when a promise has no test.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findFaults } from "./docs/check.ts";
import { withTables } from "./docs/generated.ts";
import { findBrokenLinks } from "./docs/links.ts";
import { PAGES, ROOT, SERVED_PAGES } from "./docs/pages.ts";
import { findPromiseFaults, promisingPages, testFiles } from "./docs/promises.ts";
import { TABLES } from "./docs/tables.ts";

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
if (values.check) {
  const faults = [
    ...PAGES.flatMap((page) => findFaults(ROOT, page, TABLES)),
    ...SERVED_PAGES.flatMap((page) =>
      findBrokenLinks(join(ROOT, page), join(ROOT, "public")).map(
        (link) => `${page}: the link to ${link} leads nowhere.`,
      ),
    ),
    ...findPromiseFaults(promisingPages(), testFiles()),
  ];
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
  else console.log(`The ${PAGES.length} pages of the documentation are in order.`);
} else {
  for (const page of PAGES) {
    const path = join(ROOT, page);
    const text = readFileSync(path, "utf8");
    const current = withTables(text, TABLES);
    if (current !== text) writeFileSync(path, current);
  }
}
