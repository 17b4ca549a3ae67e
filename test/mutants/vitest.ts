import { execFile } from "node:child_process";

type Outcome = "pass" | "fail" | "do not run";

/** Milliseconds. Vitest that stops at a failure sometimes waits for its workers for ever: then all tests are run. */
const PATIENCE = 480_000;
const LONGEST = 900_000;

/** Whether tests pass or fail. They do neither when Vitest or a module does not start. */
export async function run(cwd: string, args: readonly string[]): Promise<Outcome> {
  return (await runToFailure(cwd, args)) ?? (await attempt(cwd, args, LONGEST)) ?? "do not run";
}

/** The same up to the first failure, in one attempt. @returns undefined when it does not end in time. */
export const runToFailure = (cwd: string, args: readonly string[]) => attempt(cwd, ["--bail=1", ...args], PATIENCE);

/** @returns undefined when it does not end in time. */
function attempt(cwd: string, args: readonly string[], timeout: number): Promise<Outcome | undefined> {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, vitest, { cwd, maxBuffer: Infinity, timeout }, (error, stdout) => {
      if (error === null) resolve("pass");
      else if (error.killed === true) resolve(undefined);
      else resolve(/Tests .*\d failed/.test(stdout) ? "fail" : "do not run");
    });
  });
}
