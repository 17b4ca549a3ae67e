// npm run check:bundle: builds the bundle of production. Fails when it exceeds its budget, or contains sources of the document.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { buildBundle } from "./wrangler.ts";

/**
 * Bytes of the bundle after gzip. A small bundle starts faster in a new isolate, which `npm run bench:start` measures. What libraries bring
 * unused, only their authors can leave out: Hono's form and cookie parsers have 0.6 KiB, and `html` 0.2.
 */
const BUDGET_BYTES = 77.5 * 1024;

/** Sources that only describe operations. */
const DOCUMENT_ONLY = /(?:^|\/)openapi(?:\.ts$|\/)/;

const outdir = await buildBundle("production");
const size = gzipSync(readFileSync(`${outdir}/index.js`)).length;
const verdict = size <= BUDGET_BYTES ? "within" : "OVER";
console.log(`The bundle has ${kibibytes(size)} gzip, ${verdict} the budget of ${kibibytes(BUDGET_BYTES)}`);
const { sources }: { sources: string[] } = JSON.parse(readFileSync(`${outdir}/index.js.map`, "utf8"));
const misplaced = sources.filter((source) => DOCUMENT_ONLY.test(source));
for (const source of misplaced) console.log(`${source} is in the bundle; only the document needs it`);
if (size > BUDGET_BYTES || misplaced.length > 0) process.exitCode = 1;

function kibibytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}
