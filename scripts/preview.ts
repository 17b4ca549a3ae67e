// npm run preview: deploys the working tree with its own database and API keys. `npm run preview -- --help` has every option.
import { run } from "./preview/command-line.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await run(process.argv.slice(2), processTerminal());
