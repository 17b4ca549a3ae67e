// npm run bench: compares the production bundle with baselines in the same run and the same workerd. Writes bench/results.md.
// Takes less than five minutes on Linux. It sends requests to 127.0.0.1 only. npm run bench:cpu: prints CPU, start and size
// alone, beside the hand-written Workers. `-- --with <baseline>` adds another baseline. npm run bench:hostile: prints the CPU
// that hostile requests cost. npm run bench:overload: prints how many requests a slow D1 allows, with and without READ_MAX_AGE.
// npm run bench:memory: prints the memory after many lists.
// npm run bench:rows: prints what requests read in a small and in a large database, and fails when that grows.
// npm run bench:inventory: prints how much of the database the inventory takes, by the number of animals and isolates.
//
// With `-- --before <git revision>`, the others also measure the service as of that commit, and bench:cpu this one with a webhook.
// Times never fail a run, because other programs on the machine disturb them; a floor that answers differently does.
// `-- --seconds 2` measures the CPU of each Worker for 2 seconds, not 10, and its start for a fifth of the times.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkAnswers } from "./answers.ts";
import { BARE, BASELINES, buildBaselines, buildPetsAlone, buildRevision, buildService } from "./candidates.ts";
import { EMPTY, FLOOR, PETS_ALONE, withWebhook } from "./candidates.ts";
import { hostileRequests } from "./hostile.ts";
import { measureLatency } from "./latency.ts";
import { measureInventory } from "./inventory.ts";
import { measureOverload } from "./overload.ts";
import { measureMemory, measureOwnCosts, SECONDS } from "./own-cost.ts";
import { prepare } from "./prepare.ts";
import { report, reportOwnCosts } from "./report.ts";
import { measureRows } from "./rows.ts";

const {
  values,
  positionals: [part],
} = parseArgs({
  options: {
    before: { type: "string" },
    with: { type: "string", multiple: true, default: [] },
    seconds: { type: "string", default: String(SECONDS) },
  },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  if (part === "inventory") console.log(measureInventory(folder));
  else await measureServices(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measureServices(folder: string): Promise<void> {
  const service = await buildService();
  const services = [service];
  if (values.before !== undefined) services.push(await buildRevision(values.before, folder));
  if (part === "hostile") {
    console.log(await hostileRequests(await prepare(services, folder)));
  } else if (part === "memory") {
    console.log(await measureMemory(await prepare([...services, ...(await buildBaselines([FLOOR, BARE]))], folder)));
  } else if (part === "overload") {
    console.log(await measureOverload(service));
  } else if (part === "rows") {
    await measureRows(service, folder);
  } else {
    const names = part === "cpu" ? [...new Set([FLOOR, BARE, ...values.with])] : Object.keys(BASELINES);
    const others = [...(await buildBaselines(names)), await buildPetsAlone()];
    if (part === "cpu" && values.before !== undefined) others.unshift(withWebhook(service));
    const candidates = await prepare([...services, ...others], folder);
    checkAnswers(candidates);
    const own = await measureOwnCosts(candidates, Number(values.seconds));
    if (part === "cpu") {
      console.log(reportOwnCosts(own));
    } else {
      const left = [BARE, PETS_ALONE, "tutorial-plain", EMPTY];
      const latency = await measureLatency(candidates.filter(({ name }) => !left.includes(name)));
      writeFileSync(join(import.meta.dirname, "results.md"), report(own, latency));
    }
  }
}
