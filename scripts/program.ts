import { Command, CommanderError, InvalidArgumentError } from "commander";
import { oneLine } from "./one-line.ts";
import type { Terminal } from "./terminal.ts";

/** A command line whose mistakes are one line each on standard error, and whose help is on standard output. */
export function newProgram(name: string, terminal: Terminal): Command {
  return new Command(name)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      // Only the help that commander shows when there is no command: mistakes go through outputError.
      writeErr: (text) => terminal.print(text.trimEnd()),
      outputError: (text) => terminal.say(toSentence(text)),
    })
    .exitOverride();
}

/**
 * Runs a command to its end. A mistake or failure is one line on standard error.
 *
 * @param args what stands on the command line after the program.
 * @returns the exit code: 0, or 1 for mistakes and failures.
 */
export async function runProgram(program: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    // Of its own errors commander has told already. It ends with one as well when it has printed the help.
    if (error instanceof CommanderError) return error.code === "commander.help" ? 0 : error.exitCode;
    terminal.say(oneLine(error));
    return 1;
  }
}

/** commander takes whatever follows an option for its value: `--name --json` would make a key called `--json`. */
export function refuseOption(value: string): void {
  if (value.startsWith("--")) throw new InvalidArgumentError("The value is missing.");
}

/** What commander says of a mistake, on one line and like our own words. It may repeat what was typed, escapes and all. */
function toSentence(text: string): string {
  const plain = text
    .replace(/^error: /, "")
    .replace(/\p{C}+/gu, " ")
    .trim();
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
