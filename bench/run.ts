// npm run bench: the production bundle beside baselines, in the same run and the same workerd. Prints tables, and writes
// bench/results.md and bench/results.svg. Takes less than five minutes, on Linux; its requests go to 127.0.0.1 only.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildCandidates, EMPTY, SERVICE } from "./candidates.ts";
import { measureOperations } from "./operations.ts";
import { measureCpu, measureStarts } from "./own-cost.ts";
import { writeReport } from "./report.ts";
import { CREATE, CREATE_ONCE, REQUESTS } from "./requests.ts";
import { measureGrowth, measurePages } from "./size.ts";
import { measureUnderLoad } from "./under-load.ts";

const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const candidates = await buildCandidates();
  const service = candidates.find(({ name }) => name === SERVICE);
  if (service === undefined) throw new Error("no service");
  console.log("CPU and start-up");
  const cpu = await measureCpu(candidates, REQUESTS, folder);
  const [creations = []] = await measureCpu([service], [CREATE, CREATE_ONCE], folder);
  const starts = await measureStarts(candidates, folder);
  console.log("Round trips and rows");
  const operations = await measureOperations(service);
  console.log("Pages of small and large databases");
  const pages = await measurePages(service);
  const growth = await measureGrowth(service);
  console.log("Throughput and latency with real storage");
  const stacks = candidates.filter(({ name }) => name !== EMPTY);
  const underLoad = await measureUnderLoad(stacks);
  writeReport({ candidates, cpu, creations, starts, operations, pages, growth, stacks, underLoad });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
