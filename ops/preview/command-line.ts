import { Option } from "commander";
import { toDuration } from "../duration.ts";
import { Interruption } from "../interruption.ts";
import { newProgram, runProgram } from "../program.ts";
import { smokeTestOptions } from "../release/options.ts";
import type { Terminal } from "../terminal.ts";
import { createPreview, type CreateOptions } from "./create.ts";
import { type Preview, toNames, toPreview } from "./names.ts";
import { deletePreview, sweepPreviews } from "./remove.ts";

interface Options extends Omit<CreateOptions, "name"> {
  name?: Preview;
  delete?: true;
  sweep?: true;
  olderThan: number;
  keep: string[];
}

export const WEEK = 7 * 86_400_000;

/** Runs `npm run preview`. Returns the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = newProgram("npm run preview --", terminal)
    .description("Deploys the working tree to a Worker with a database and API keys of its own.")
    .option("--name <name>", "Creates or updates this preview.", toPreview)
    .option("--json", "Prints one JSON value on standard output, and nothing else there.")
    .addOption(new Option("--delete", "Deletes the preview with its data.").conflicts(["json", "sweep"]))
    .addOption(new Option("--sweep", "Deletes old previews.").conflicts(["json", "name"]))
    .addOption(
      new Option("--older-than <duration>", "Sweeps previews that nobody deployed for so long.")
        .argParser(toDuration)
        .default(WEEK, "7d"),
    )
    .addOption(
      new Option("--keep <names>", "Previews that --sweep spares, separated by commas.").argParser(toNames).default([]),
    );
  for (const option of smokeTestOptions()) program.addOption(option);
  program.action(async (options: Options) => {
    const { name } = options;
    if (options.sweep) return sweepPreviews(options, terminal);
    if (name === undefined) throw new Error("A preview has a name. Say --name, or --sweep.");
    if (options.delete) return deletePreview({ name }, terminal);
    const interruption = new Interruption("The preview may be there in part. The same command goes on.");
    return interruption.watch(terminal, () => createPreview({ ...options, name }, terminal));
  });
  return runProgram(program, args, terminal);
}
