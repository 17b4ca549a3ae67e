// npm run backup: copies the database of an environment into a folder. `npm run backup -- --help` has every option.
import { runBackup } from "./backup/command-line.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await runBackup(process.argv.slice(2), processTerminal());
