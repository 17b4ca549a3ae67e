// npm run release: deploys the code of this commit to staging or production. `npm run release -- --help` has every option.
import { run } from "./release/command-line.ts";
import { processTerminal } from "./terminal.ts";

process.exitCode = await run(process.argv.slice(2), processTerminal());
