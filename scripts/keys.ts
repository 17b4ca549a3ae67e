// npm run keys: creates, lists, shows, revokes and rotates API keys. `npm run keys -- --help` has every command and option.
import { run } from "./keys/command-line.ts";
import { processTerminal } from "./terminal.ts";

// wrangler prints on standard output which files it reads. Only the key may appear there.
process.env["WRANGLER_LOG"] = "error";

process.exitCode = await run(process.argv.slice(2), processTerminal());
