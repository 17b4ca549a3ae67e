// npm run rollback: returns staging or production to an earlier version of the code. `npm run rollback -- --help` has every option.
import { newProgram, runProgram } from "./program.ts";
import { rollback } from "./release/rollback.ts";
import { targetOptions, type TargetOptions, toVersionId } from "./release/values.ts";
import { processTerminal } from "./terminal.ts";

const terminal = processTerminal();
const program = newProgram("npm run rollback --", terminal)
  .description("Gives an earlier version of the code all requests of an environment. The data stays as it is.")
  .option("--to <version id>", "The version. The one before the present one unless given.", toVersionId)
  .action((options: TargetOptions & { to?: string }) => rollback(options, terminal));
for (const option of targetOptions()) program.addOption(option);
process.exitCode = await runProgram(program, process.argv.slice(2), terminal);
