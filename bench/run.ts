// npm run bench:cpu: prints CPU, start and size of the production bundle, beside two hand-written Workers in the same workerd.
// `-- --seconds 2` measures each Worker for 2 seconds, not 10. Times never fail a run, because other programs on the machine disturb
// them; a floor that answers differently does.
// npm run bench:start: prints the CPU of a start, and fails when it is too much beside that of the bare Worker.
// npm run bench:memory: prints the memory after many lists.
// npm run bench:rows: prints what requests read in a small and in a large database, and fails when that grows.
//
// With `-- --before <git revision>`, the first three also measure the service as of that commit, and bench:cpu this one with a webhook.
// All send requests to 127.0.0.1 only, and the first three need Linux.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildBaselines, buildRevision, buildService, withWebhook } from "./candidates.ts";
import { checkStarts, SECONDS, showCosts, showMemory } from "./cost.ts";
import { checkAnswers, prepare } from "./prepare.ts";
import { measureRows } from "./rows.ts";

const {
  values: { before, seconds },
  positionals: [part],
} = parseArgs({
  options: {
    before: { type: "string" },
    seconds: { type: "string", default: String(SECONDS) },
  },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const service = await buildService();
  if (part === "rows") {
    await measureRows(service, folder);
  } else {
    const services = [service];
    if (before !== undefined) {
      services.push(await buildRevision(before, folder));
      if (part === "cpu") services.push(withWebhook(service));
    }
    const candidates = await prepare([...services, ...(await buildBaselines())], folder);
    checkAnswers(candidates);
    if (part === "cpu") await showCosts(candidates, Number(seconds));
    else if (part === "start") process.exitCode = (await checkStarts(candidates)) ? 0 : 1;
    else await showMemory(candidates);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
