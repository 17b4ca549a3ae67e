// npm run bench: the production bundle beside baselines, in the same run and the same workerd. Prints tables, and writes
// bench/results.md and bench/results.svg. Takes less than five minutes, on Linux; its requests go to 127.0.0.1 only.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BARE, BASELINES, buildBaselines, buildService, EMPTY, TUTORIAL_PLAIN } from "./candidates.ts";
import { measureOperations } from "./operations.ts";
import { measureCpu } from "./own-cost.ts";
import { prepare } from "./prepare.ts";
import { writeReport } from "./report.ts";
import { CREATE, CREATE_ONCE, REQUESTS } from "./requests.ts";
import { checkAnswers } from "./same-answers.ts";
import { measureGrowth, measurePages } from "./size.ts";
import { measureStarts } from "./starts.ts";
import { measureUnderLoad } from "./under-load.ts";

/** Of CPU measurement for each candidate. */
const SECONDS = 8;
const STARTS = 25;

const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const service = await buildService();
  const candidates = await prepare([service, ...(await buildBaselines(BASELINES))], folder);
  await checkAnswers(candidates);
  console.log("CPU and starts");
  const cpu = await measureCpu(candidates, REQUESTS, SECONDS);
  const [creations = []] = await measureCpu(candidates.slice(0, 1), [CREATE, CREATE_ONCE], SECONDS);
  const starts = await measureStarts(candidates, STARTS);
  console.log("Round trips and rows");
  const operations = await measureOperations(service);
  console.log("Pages of small and large databases");
  const pages = await measurePages(service);
  const growth = await measureGrowth(service);
  console.log("Throughput and latency with real storage");
  const stacks = candidates.filter(({ name }) => ![BARE, TUTORIAL_PLAIN, EMPTY].includes(name));
  const underLoad = await measureUnderLoad(stacks);
  writeReport({
    own: { candidates, cpu, starts },
    creations: { without: creations[0] ?? [], with: creations[1] ?? [] },
    operations,
    pages,
    growth,
    stacks,
    underLoad,
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
