import { Command, CommanderError, InvalidArgumentError } from "commander";
import { oneLine } from "./one-line.ts";
import type { Terminal } from "./terminal.ts";

/** A command line that prints a mistake as one line on standard error, and its help on standard output. */
export function newProgram(name: string, terminal: Terminal): Command {
  return new Command(name)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      // commander writes its help here when the command is missing. Mistakes go through outputError.
      writeErr: (text) => terminal.print(text.trimEnd()),
      outputError: (text) => terminal.say(toSentence(text)),
    })
    .exitOverride();
}

/**
 * Runs a command until it ends. A mistake or failure is one line on standard error.
 *
 * @param args the arguments after the program.
 * @returns the exit code: 0, or 1 for mistakes and failures.
 */
export async function runProgram(program: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    // commander has already printed its own errors. It also throws one after it prints the help.
    if (error instanceof CommanderError) return error.code === "commander.help" ? 0 : error.exitCode;
    terminal.say(oneLine(error));
    return 1;
  }
}

/** commander reads any argument after an option as its value: `--name --json` would create a key called `--json`. */
export function refuseOption(value: string): void {
  if (value.startsWith("--")) throw new InvalidArgumentError("The value is missing.");
}

/** commander's message for a mistake, on one line and in this project's form. It may repeat the input, including escapes. */
function toSentence(text: string): string {
  const plain = text
    .replace(/^error: /, "")
    .replace(/\p{C}+/gu, " ")
    .trim();
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
