import { afterAll, beforeEach, expect, vi } from "vitest";
import { run } from "../../ops/keys/command-line.ts";
import { type Namespace, openNamespace } from "../../ops/keys/namespace.ts";
import { type KeyRecord, keyRecordName, parseKeyRecord } from "../../src/auth/key-record.ts";
import { temporaryFolder } from "../built/folder.ts";
import type { Result } from "./cloudflare/checkout.ts";
import { runHere } from "./cloudflare/fixture.ts";

export interface Outcome extends Result {
  /** The environments whose storage was opened. */
  opened: string[];
}

/** A new key as --json shows it. */
export type Shown = KeyRecord & {
  key: string;
  replaces: { id: string; expiresAt: string };
  earlierSuccessors?: { id: string; status: string }[];
};

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const START = Date.parse("2027-01-01T00:00:00.000Z");
export const at = (time: number) => new Date(time).toISOString();
export const after = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

/** A local environment for the tests of a file, without valid keys before each. Its clock is stopped, so that lifetimes are exact. */
export async function useLocalKeys() {
  const local = await openNamespace("local", () => {}, temporaryFolder());
  beforeEach(async () => {
    vi.useFakeTimers({ now: START, toFake: ["Date"] });
    for (const { name } of await local.list("key:")) await local.put(name, { value: "null" });
    return () => vi.useRealTimers();
  });
  afterAll(() => local.close());
  const json = async (command: string, ...args: string[]): Promise<Shown> => {
    const { code, stdout, stderr } = await runKeys(local, [command, "--env", "local", "--json", ...args]);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  return {
    local,
    json,
    create: (...args: string[]) => json("create", "--name", "shop", ...args),
    rotate: ({ id }: { id: string }, ...args: string[]) => json("rotate", id, ...args),
    /** The record that the service reads. */
    stored: async ({ key }: Shown) => parseKeyRecord((await local.get(await keyRecordName(key))) ?? ""),
    /** The storage, whose listing does not have a key yet. */
    without: (id: string): Namespace => ({
      ...local,
      list: async () =>
        (await local.list("key:")).filter(({ metadata }) => !JSON.stringify(metadata)?.includes(`"id":"${id}"`)),
    }),
  };
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
  const opened: string[] = [];
  const open: typeof openNamespace = async (environment, ...rest) => {
    opened.push(environment);
    return environment === "local" ? { ...local, close: async () => {} } : openNamespace(environment, ...rest);
  };
  const more = {
    read: async () => input ?? expect.unreachable("Standard input was read"),
    ...(answer !== undefined && { ask: async () => answer }),
  };
  return { ...(await runHere((all, terminal) => run(all, terminal, open), args, more)), opened };
}
