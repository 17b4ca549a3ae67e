// npm run bench: the production bundle beside baselines, in the same run and the same workerd. Prints tables, and writes
// bench/results.md and bench/results.svg. Takes some four minutes; talks to 127.0.0.1 only.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildCandidates, SERVICE } from "./candidates.ts";
import { measureOperations } from "./operations.ts";
import { measureOwnCost } from "./own-cost.ts";
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
  const ownCosts = await measureOwnCost(candidates, REQUESTS, folder);
  const [creations] = await measureOwnCost([service], [CREATE, CREATE_ONCE], folder);
  console.log("Round trips and rows");
  const operations = await measureOperations(service);
  console.log("Pages of small and large databases");
  const pages = await measurePages(service);
  const growth = await measureGrowth(service);
  console.log("Throughput and latency with real storage");
  const underLoad = await measureUnderLoad(candidates);
  writeReport({ requests: REQUESTS, ownCosts, creations: creations?.cpu ?? [], operations, pages, growth, underLoad });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
