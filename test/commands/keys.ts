import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { run } from "../../ops/keys/command-line.ts";
import { type Namespace, openNamespace } from "../../ops/keys/namespace.ts";

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
  /** The environments whose storage was opened. */
  opened: string[];
}

/** Milliseconds. wrangler takes seconds to start on an idle machine, and many times that on a busy one. */
export const WRANGLER_TIMEOUT = 180_000;

/** Opens a local environment for the tests of a file, in a new folder that is removed after them. */
export async function openLocalStorage(): Promise<{ state: string; local: Namespace }> {
  const state = mkdtempSync(join(tmpdir(), "petstore-keys-"));
  const local = await openNamespace("local", () => {}, state);
  afterAll(async () => {
    await local.close();
    rmSync(state, { recursive: true });
  });
  return { state, local };
}

/**
 * Runs `npm run keys` in this process.
 *
 * @param local the storage of the local environment. It stays open for the next command.
 * @param answer of the person at the terminal. Without one, there is no terminal.
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
    async (environment, ...rest) => {
      outcome.opened.push(environment);
      return environment === "local" ? { ...local, close: async () => {} } : openNamespace(environment, ...rest);
    },
  );
  return outcome;
}
