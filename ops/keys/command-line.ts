import { type Command, Option } from "commander";
import type { Environment } from "../../src/auth/key-format.ts";
import type { Scope } from "../../src/auth/scopes.ts";
import { endingWithin, type Inspection, inspectKey, inspectSecret } from "./inspection.ts";
import { createKey, type Expiry, revokeKey } from "./operations.ts";
import { toDuration } from "../duration.ts";
import { runProgram } from "../program.ts";
import { confirmProduction, type Terminal } from "../terminal.ts";
import { showInspection, showKey, showList, showRevocation, showRotation } from "./report.ts";
import { endPredecessor, issueSuccessor } from "./rotation.ts";
import { openNamespace } from "./namespace.ts";
import { KeyStore } from "./store.ts";
import { newLocalProgram, toExpiry, toId, toKey, toName, toScopes } from "./values.ts";

/** Milliseconds. */
export const DEFAULT_OVERLAP = 24 * 3_600_000;
/** A new scope is given only when it is asked for: the same command must not give more after an upgrade. */
const DEFAULT_SCOPES: readonly Scope[] = ["pets:read", "pets:write"];

/** The options of all commands. A command has some of them. */
interface Options {
  env: Environment;
  json?: true;
  persistTo?: string;
  yes?: true;
  endingWithin?: number;
  keyFromStdin?: true;
  name: string;
  scopes: readonly string[];
  expires?: Expiry;
  overlap: number;
}

/**
 * Runs one command to its end. A mistake is one line on standard error.
 *
 * @param args what stands on the command line after the program.
 * @param open opens the storage of an environment, once all that was given is known to be right.
 * @returns the exit code: 0, or 1 for mistakes and failures.
 */
export async function run(args: readonly string[], terminal: Terminal, open = openNamespace): Promise<number> {
  return runProgram(describe(terminal, open), args, terminal);
}

/** Every command and option, once: they are read by this, and so is the help. */
function describe(terminal: Terminal, open: typeof openNamespace): Command {
  const program = newLocalProgram("npm run keys --", terminal)
    .description("Manages the API keys of one environment.")
    .option("--json", "Prints one JSON value on standard output, and nothing else there.")
    .addHelpText("after", "\nWith npm run --silent, standard output can be piped: the key alone, or the JSON.")
    .configureHelp({ showGlobalOptions: true });

  program
    .command("create")
    .description("Creates an API key. The key is shown once, and stored nowhere.")
    .requiredOption("--name <name>", "Whose key it is.", toName)
    .addOption(
      new Option("--scopes <list>", "What it may do, separated by commas.")
        .argParser(toScopes)
        .default(DEFAULT_SCOPES, DEFAULT_SCOPES.join(",")),
    )
    .option("--expires <when>", "A duration from now (90d), or a date (2027-01-31). Never unless given.", toExpiry)
    .addOption(yes())
    .action((_, command: Command) =>
      change(command, async (store, options) => showKey(terminal, options.json, await createKey(store, options))),
    );

  program
    .command("list")
    .description("Lists every key that was ever created, with what became of it.")
    .option("--ending-within <duration>", "Only keys that work now and end so soon (30d).", toDuration)
    .action(async (_, command: Command) => {
      const { endingWithin: duration, ...options } = command.optsWithGlobals<Options>();
      await withStore(options, async (store) => {
        const keys = await store.list();
        const now = store.namespace.now();
        if (duration === undefined) return showList(terminal, options.json, keys, now);
        return showList(terminal, options.json, endingWithin(keys, duration, now), now, "No key ends so soon.");
      });
    });

  program
    .command("show")
    .description("Shows a key, the key that it replaces and those that replace it.")
    .argument("[id]", "The id in the list, or in the log.", toId)
    .option("--key-from-stdin", "Reads a key from standard input, to tell whose it is. The key is not shown.")
    .action(async (id: string | undefined, _, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      if ((id === undefined) === (options.keyFromStdin === undefined))
        command.error("show takes an id or --key-from-stdin.");
      const inspect = id === undefined ? await keyInspection(options.env) : (store: KeyStore) => inspectKey(store, id);
      await withStore(options, async (store) => showInspection(terminal, options.json, await inspect(store)));
    });

  program
    .command("revoke")
    .description("Ends a key. It stays in the list.")
    .argument("<id>", "The id in the list.", toId)
    .addOption(yes())
    .action((id: string, _, command: Command) =>
      change(command, async (store, options) => showRevocation(terminal, options, await revokeKey(store, id))),
    );

  program
    .command("rotate")
    .description("Creates a key with the same name and scopes, and lets the old one end after an overlap.")
    .argument("<id>", "The id in the list.", toId)
    .addOption(
      new Option("--overlap <duration>", "How long both work.").argParser(toDuration).default(DEFAULT_OVERLAP, "24h"),
    )
    .option(
      "--expires <when>",
      "When the new key ends, as for create. It lives as long as the old one unless given.",
      toExpiry,
    )
    .addOption(yes())
    .action((id: string, _, command: Command) =>
      change(command, async (store, options) => {
        const rotation = await issueSuccessor(store, id, options);
        // From here on the new key works, so it is shown, whatever becomes of the old one.
        showRotation(terminal, options, rotation);
        await endPredecessor(store, rotation);
      }),
    );

  async function keyInspection(env: Environment): Promise<(store: KeyStore) => Promise<Inspection>> {
    const key = toKey(await terminal.read(), env);
    return (store) => inspectSecret(store, key);
  }

  async function change(command: Command, use: (store: KeyStore, options: Options) => Promise<void>): Promise<void> {
    const options = command.optsWithGlobals<Options>();
    await confirmProduction(options, terminal, "This changes keys of production.");
    await withStore(options, (store) => use(store, options));
  }

  async function withStore(
    { env, persistTo }: Pick<Options, "env" | "persistTo">,
    use: (store: KeyStore) => Promise<void>,
  ): Promise<void> {
    const namespace = await open(env, (text) => terminal.say(text), persistTo);
    try {
      await use(new KeyStore(env, namespace));
    } finally {
      await namespace.close();
    }
  }

  return program;
}

function yes(): Option {
  return new Option("--yes", "Changes keys of production without asking.");
}
