// npm run bench:cpu: prints the CPU, start and size of the service beside the hand-written Workers, in less than a minute. Figures never
// fail it, because other programs on the machine disturb them; a floor that answers differently does.
//
//   npm run bench:cpu -- --before <git revision>    also measures the service as of that commit
//   npm run bench:cpu -- --with <baseline>          also measures another of the baselines; can be repeated
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BARE, buildBaselines, buildService, FLOOR } from "./candidates.ts";
import { cpuMethod, measureCpu } from "./own-cost.ts";
import { prepare } from "./prepare.ts";
import { REQUESTS } from "./requests.ts";
import { buildRevision } from "./revision.ts";
import { checkAnswers } from "./same-answers.ts";
import { measureStarts, startsMethod } from "./starts.ts";
import { cpuTable, ratioTable, startTable } from "./tables.ts";

/** Of CPU measurement for each candidate. */
const SECONDS = 6;
const STARTS = 15;

const { values } = parseArgs({
  options: { before: { type: "string" }, with: { type: "string", multiple: true, default: [] } },
});
const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const service = await buildService();
  const before = values.before === undefined ? [] : [buildRevision(values.before, folder)];
  const others = [...before, ...(await buildBaselines([...new Set([FLOOR, BARE, ...values.with])]))];
  const candidates = await prepare([service, ...others], folder);
  await checkAnswers(candidates);
  const cpu = await measureCpu(candidates, REQUESTS, SECONDS);
  const starts = await measureStarts(candidates, STARTS);
  const own = { candidates, cpu, starts };
  console.log(`
${cpuMethod(cpu)}
${startsMethod(starts)}
The 10th percentile, then the median and the 75th percentile. × is the ratio to the hand-written Worker.

${cpuTable(own)}

${startTable(own)}

This service as a ratio to:

${ratioTable(
  own,
  others.map(({ name }) => name),
)}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
