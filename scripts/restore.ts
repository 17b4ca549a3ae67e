// npm run restore: replaces the database of an environment by a backup. `npm run restore -- --help` has every option.
import { runRestore } from "./backup/command-line.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await runRestore(process.argv.slice(2), processTerminal());
