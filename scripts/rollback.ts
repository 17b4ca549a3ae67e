// npm run rollback: returns staging or production to an earlier version of the code. `npm run rollback -- --help` has every option.
import { runRollback } from "./release/command-line.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await runRollback(process.argv.slice(2), processTerminal());
