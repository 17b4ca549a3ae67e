// npm run test:world: runs the service in simulated worlds, one for each seed, and checks every guarantee in their histories. A failure
// prints its seed, and the shortest history that shows it.
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { judge, searchesIn } from "./checkers.ts";
import { picture } from "./picture.ts";
import { programAt } from "./program.ts";
import type { Worker } from "./service.ts";
import { shrink } from "./shrink.ts";
import { presentCode, runWorld } from "./world.ts";

const HOUR = 3_600_000;
/** Milliseconds between two lines of progress. */
const PROGRESS = 10_000;

const { seed, worlds, steps, beside } = new Command("npm run test:world --")
  .description("Checks the guarantees of the service in simulated worlds, one for each seed.")
  .option("--seed <number>", "of the first world", Number, randomInt(2 ** 31))
  .option("--worlds <number>", "worlds to run", Number, 1)
  .option("--steps <number>", "steps of each world", Number, 8_000)
  .option("--beside <commit>", "run the service as of this commit in some of the isolates, on the newest schema")
  .parse()
  .opts<{ seed: number; worlds: number; steps: number; beside?: string }>();

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../public/openapi.json"), "utf8"),
) as OpenAPIObject;
const code = await presentCode();
if (beside !== undefined)
  code.versions.push({ name: beside, program: await programAt<Worker>(beside, "src/index.ts") });
const begin = performance.now();
const faults = new Map<string, number>();
let [ran, sent, duration, shown] = [0, 0, 0, begin];
console.log(`The first seed is ${seed}.`);
while (ran < worlds) {
  const plan = { seed: seed + ran, steps };
  const outcome = await runWorld(code, plan);
  const [violation] = judge(outcome, document);
  if (violation !== undefined) {
    console.error(`Seed ${plan.seed} breaks ${violation.checker}. Its history is made shorter.`);
    const shortest = await shrink(code, document, { plan, outcome, violation });
    console.error(picture(shortest));
    process.exit(1);
  }
  ran++;
  sent += outcome.history.exchanges.length;
  duration += outcome.duration;
  for (const [kind, count] of [...outcome.history.faults, ...searchesIn(outcome)])
    faults.set(kind, (faults.get(kind) ?? 0) + count);
  if (performance.now() - shown > PROGRESS) {
    shown = performance.now();
    console.log(summary());
  }
}
console.log(summary());
for (const [kind, count] of [...faults].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${String(count).padStart(9)} ${kind}`);

function summary(): string {
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage();
  const rate = Math.round(sent / ((user + system) / 1e6));
  return `${ran} seeds, ${sent} operations in ${Math.round(seconds)} s, ${rate} per CPU second, ${Math.round(duration / HOUR)} simulated hours, no violation`;
}
