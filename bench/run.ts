// npm run bench:cpu: compares the CPU of requests with that of two hand-written Workers in the same workerd. Fails when a floor answers
// differently. With `-- --before <git revision>`, fails also when a request takes more than before. `-- --rounds 20` makes
// the figures steadier.
// npm run bench:start: prints the CPU of a start, and fails when it is too much beside that of the bare Worker.
// npm run bench:rows: prints what requests read in a small and in a large database, and fails when that grows.
//
// All send requests to 127.0.0.1 only, and the first two need Linux.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildBaselines, buildRevision, buildService } from "./candidates.ts";
import { checkStarts, compareCosts, ROUNDS } from "./cost.ts";
import { checkAnswers, prepare } from "./prepare.ts";
import { measureRows } from "./rows.ts";

const {
  values: { before, rounds },
  positionals: [part],
} = parseArgs({
  options: {
    before: { type: "string" },
    rounds: { type: "string", default: String(ROUNDS) },
  },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
try {
  const service = await buildService();
  if (part === "rows") {
    await measureRows(service);
  } else {
    const earlier = before === undefined ? [] : [await buildRevision(before, folder)];
    const candidates = await prepare([service, ...earlier, ...(await buildBaselines())], folder);
    checkAnswers(candidates);
    const passes = part === "cpu" ? compareCosts(candidates, Number(rounds)) : checkStarts(candidates);
    process.exitCode = (await passes) ? 0 : 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
