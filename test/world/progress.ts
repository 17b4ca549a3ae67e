// npm run test:progress: measures the progress of the engine of webhooks in simulated time, and fails when a figure is out of its
// bound. Arguments choose the cases whose names begin with them.
import { Command } from "commander";
import { CASES, type Figure, isKept } from "./cases.ts";
import { programAt, programOf } from "./program.ts";
import type { Worker } from "./service.ts";
import { Stage } from "./stage.ts";

const command = new Command("npm run test:progress --")
  .description("Measures the progress of webhooks in simulated time.")
  .argument("[cases...]", "the beginnings of the names of the cases to run")
  .option("--hours <number>", "of changes, in the cases that last long", Number, 8)
  .option("--version <commit>", "run the engine as of this commit, on the newest schema")
  .parse();
const { version, hours } = command.opts<{ version?: string; hours: number }>();
const program = await (version === undefined
  ? programOf<Worker>("src/index.ts")
  : programAt<Worker>(version, "src/index.ts"));
const isChosen = ([name]: [string, unknown]) =>
  command.args.length === 0 || command.args.some((start) => name.startsWith(start));

function print(name: string, figures: readonly Figure[]): void {
  for (const figure of figures) {
    const { what, value, least = -Infinity, most = Infinity } = figure;
    const isBroken = !isKept(figure);
    const bounds = [least > -Infinity && `>= ${least}`, most < Infinity && `<= ${most}`].filter(Boolean);
    console.log(`| ${name} | ${what} | ${value} | ${bounds.join(", ")}${isBroken ? " **broken**" : ""} |`);
    if (isBroken) process.exitCode = 1;
  }
}

console.log("| Case | Figure | Value | Bound |\n| --- | --- | --- | --- |");
for (const [name, run] of Object.entries(CASES).filter(isChosen)) {
  const stage = new Stage(program, hours);
  print(name, await run(stage));
  const [error] = stage.errors;
  if (error !== undefined) print(name, [{ what: error.slice(0, 200), value: stage.errors.length, most: 0 }]);
  stage.close();
}
process.exit();
