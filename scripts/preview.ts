// npm run preview: a deployment of the working tree with a database and API keys of its own. `npm run preview -- --help` has every option.
import { run } from "./preview/command-line.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await run(process.argv.slice(2), processTerminal());
