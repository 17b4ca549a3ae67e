// npm run check:bundle: builds what each environment would deploy, and fails when it outgrew its budget.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { buildBundle } from "./wrangler.ts";

/** Bytes of the bundle after gzip. Cloudflare's limit is 3 MB; a small bundle is what starts fast in a new isolate. */
const BUDGET_BYTES = 40 * 1024;

for (const environment of ["staging", "production"] as const) {
  const outdir = await buildBundle(environment);
  const size = gzipSync(readFileSync(`${outdir}/index.js`)).length;
  const verdict = size <= BUDGET_BYTES ? "within" : "OVER";
  console.log(`${environment}: ${kibibytes(size)} gzip, ${verdict} the budget of ${kibibytes(BUDGET_BYTES)}`);
  if (size > BUDGET_BYTES) process.exitCode = 1;
}

function kibibytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}
