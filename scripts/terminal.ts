import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";

/** Where a command writes, and whom it asks. A text is one or more whole lines. */
export interface Terminal {
  /** Standard output: help, and the result that another program may read. */
  print(text: string): void;
  /** Standard error: what is said to the person in front of it. */
  say(text: string): void;
  /** Puts a question to that person. Absent where there is none. */
  ask?(question: string): Promise<string>;
  /** All of standard input. */
  read(): Promise<string>;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    print: (lines) => console.log(lines),
    say: (lines) => console.error(lines),
    read: () => text(process.stdin),
    ...(process.stdin.isTTY && { ask }),
  };
}

/**
 * Has a change of production confirmed. Other environments need no confirmation.
 *
 * @param yes whether the command line confirmed it already.
 * @param change what the command does, as a sentence.
 * @throws Error when there is nobody to ask, and when the answer is another one.
 */
export async function confirmProduction(
  { env, yes }: { env: string; yes?: boolean },
  change: string,
  terminal: Terminal,
): Promise<void> {
  if (env !== "production" || yes) return;
  if (terminal.ask === undefined) throw new Error(`${change} Say --yes.`);
  const answer = await terminal.ask(`${change} Type production to go on: `);
  if (answer !== "production") throw new Error("Nothing was changed.");
}

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
