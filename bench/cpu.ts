// npm run bench:cpu: prints the CPU, start and size of the service beside the hand-written Workers, in less than a minute. Figures never
// fail it, because other programs on the machine disturb them; a floor that answers differently does.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BARE, buildBaselines, buildService, FLOOR } from "./candidates.ts";
import { cpuMethod, measureCpu } from "./own-cost.ts";
import { prepare } from "./prepare.ts";
import { REQUESTS } from "./requests.ts";
import { checkAnswers } from "./same-answers.ts";
import { measureStarts, startsMethod } from "./starts.ts";
import { cpuTable, ratioTable, startTable } from "./tables.ts";

/** Of CPU measurement for each candidate. */
const SECONDS = 6;
const STARTS = 15;

const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const candidates = await prepare([await buildService(), ...(await buildBaselines([FLOOR, BARE]))], folder);
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

${ratioTable(own, [FLOOR, BARE])}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
