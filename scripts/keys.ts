// npm run keys: creates, lists, shows, revokes and rotates API keys. `npm run keys -- --help` has every command and option.
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { run } from "./keys/command-line.ts";
import type { Terminal } from "./keys/report.ts";

// wrangler remarks on standard output which files it reads. Only the key belongs there.
process.env["WRANGLER_LOG"] = "error";

const terminal: Terminal = {
  print: (text) => console.log(text),
  say: (text) => console.error(text),
  read: () => text(process.stdin),
  ...(process.stdin.isTTY && { ask }),
};
process.exitCode = await run(process.argv.slice(2), terminal);

async function ask(question: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await prompt.question(question);
  } catch {
    // Broken off with Ctrl-C or Ctrl-D. No answer is a no.
    return "";
  } finally {
    prompt.close();
  }
}
