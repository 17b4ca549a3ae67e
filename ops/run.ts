// npm run release, rollback, preview, backup, restore, doctor, webhooks and keys: the commands of operators. `npx node ops/run.ts --help` lists them.
import { setGlobalProxyFromEnv } from "node:http";
import { refuseWindows } from "../scripts/platform.ts";
import { newProgram, runProgram } from "./program.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

interface OperatorCommand {
  does: string;
  /** Loads it when it runs, so that no command waits for the packages of another one. */
  load: () => Promise<(args: readonly string[], terminal: Terminal) => Promise<number>>;
}

const COMMANDS: { [name: string]: OperatorCommand } = {
  release: {
    does: "Deploys the code of this commit to staging or production.",
    load: async () => (await import("./release/command-line.ts")).run,
  },
  rollback: {
    does: "Returns staging or production to an earlier version of the code.",
    load: async () => (await import("./release/command-line.ts")).runRollback,
  },
  preview: {
    does: "Deploys the working tree with its own database and API keys.",
    load: async () => (await import("./preview/command-line.ts")).run,
  },
  backup: {
    does: "Copies the database of an environment into a folder.",
    load: async () => (await import("./backup/command-line.ts")).runBackup,
  },
  restore: {
    does: "Replaces the database of an environment by a backup.",
    load: async () => (await import("./backup/command-line.ts")).runRestore,
  },
  doctor: {
    does: "Says on one page how an environment is.",
    load: async () => (await import("./doctor/command-line.ts")).run,
  },
  webhooks: {
    does: "Lists, stops, resumes and explains the webhooks of an environment.",
    load: async () => (await import("./webhooks/command-line.ts")).run,
  },
  keys: {
    does: "Creates, lists, shows, revokes and rotates API keys.",
    load: async () => {
      // wrangler prints on standard output which files it reads. Only the key may appear there.
      process.env["WRANGLER_LOG"] = "error";
      return (await import("./keys/command-line.ts")).run;
    },
  },
};

refuseWindows();
const terminal = processTerminal();
// A closed pipe or a full disk does not end a command in the middle of a change: Ctrl-C ends `| tee` at once.
process.stderr.on("error", () => {});
process.stdout.on("error", ({ message }) => {
  process.exitCode = 1;
  terminal.say(`The output is lost (${message}). If it had a key, revoke that key.`);
});
// As wrangler does: HTTPS_PROXY, and NO_PROXY.
setGlobalProxyFromEnv();
const program = newProgram("npx node ops/run.ts", terminal)
  .description("Each of these commands is an npm script too, and has a --help of its own.")
  .enablePositionalOptions();
for (const [name, { does, load }] of Object.entries(COMMANDS)) {
  program
    .command(name)
    .description(does)
    .argument("[arguments...]")
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (args: string[]) => {
      const run = await load();
      const code = await run(args, terminal);
      process.exitCode ||= code;
    });
}
const code = await runProgram(program, process.argv.slice(2), terminal);
process.exitCode ||= code;
