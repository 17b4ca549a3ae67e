import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";

/** The input and output of a command. A text is one or more whole lines. */
export interface Terminal {
  /** Writes help, and results that another program may read, to standard output. */
  print(text: string): void;
  /** Writes messages for the person at the terminal to standard error. */
  say(text: string): void;
  /** Asks that person a question. Absent without a terminal. */
  ask?(question: string): Promise<string>;
  /** All of standard input. */
  read(): Promise<string>;
}

export function processTerminal(): Terminal {
  return {
    print: (lines) => console.log(lines),
    say: (lines) => console.error(lines),
    read: () => text(process.stdin),
    ...(process.stdin.isTTY && { ask }),
  };
}

/**
 * Asks for confirmation of a change of production. Other environments need none.
 *
 * @param yes whether the command line confirms it.
 * @param change what the command does, as a sentence, unless it has just said so.
 * @throws Error without a terminal, and for any other answer.
 */
export async function confirmProduction(
  { env, yes }: { env: string; yes?: boolean },
  terminal: Terminal,
  change = "Production needs a confirmation.",
): Promise<void> {
  if (env !== "production" || yes) return;
  if (terminal.ask === undefined) throw new Error(`${change} Say --yes.`);
  const answer = await terminal.ask(`${change} Type production to go on: `);
  if (answer !== "production") throw new Error("Nothing was changed.");
}

/** Rows of cells as lines of columns. */
export function table(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  return lines.map((line) => line.trimEnd()).join("\n");
}

async function ask(question: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await prompt.question(question);
  } catch {
    // Interrupted with Ctrl-C or Ctrl-D, which counts as a refusal.
    return "";
  } finally {
    prompt.close();
  }
}
