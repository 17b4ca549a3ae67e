import { expect } from "vitest";
import { run } from "../../scripts/keys/command-line.ts";
import { type Namespace, openNamespace } from "../../scripts/keys/namespace.ts";

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
  /** The environments whose storage was opened. */
  opened: string[];
}

/**
 * Runs `npm run keys` in this process.
 *
 * @param local the storage of the local environment. It stays open for the next command.
 * @param answer of the person at the terminal; without one there is no terminal.
 * @param input all of standard input.
 */
export async function runKeys(
  local: Namespace,
  args: readonly string[],
  answer?: string,
  input?: string,
): Promise<Outcome> {
  const outcome: Outcome = { code: 0, stdout: "", stderr: "", opened: [] };
  outcome.code = await run(
    args,
    {
      print: (text) => void (outcome.stdout += `${text}\n`),
      say: (text) => void (outcome.stderr += `${text}\n`),
      read: async () => input ?? expect.unreachable("Standard input was read"),
      ...(answer !== undefined && { ask: async () => answer }),
    },
    async (environment, persistTo) => {
      outcome.opened.push(environment);
      return environment === "local" ? { ...local, close: async () => {} } : openNamespace(environment, persistTo);
    },
  );
  return outcome;
}
