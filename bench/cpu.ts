// npm run bench:cpu: what the service costs in CPU beside the hand-written Worker, in less than a minute; to look at while tuning, and in
// CI. Writes nothing, and judges nothing: a machine that others use too is no judge.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BARE, buildBaselines, buildService, FLOOR } from "./candidates.ts";
import { measureCpu } from "./own-cost.ts";
import { prepare } from "./prepare.ts";
import { cpuTable } from "./report.ts";
import { REQUESTS } from "./requests.ts";
import { checkAnswers } from "./same-answers.ts";

/** Of CPU measurement for each candidate. */
const SECONDS = 6;

const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const candidates = await prepare([await buildService(), ...(await buildBaselines([FLOOR, BARE]))], folder);
  await checkAnswers(candidates);
  console.log(cpuTable(candidates, await measureCpu(candidates, REQUESTS, SECONDS)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
