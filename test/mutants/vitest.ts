import { execFile } from "node:child_process";

/** Whether tests pass or fail. They do neither when Vitest or a module does not start. */
export function run(cwd: string, args: readonly string[]): Promise<"pass" | "fail" | "do not run"> {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--bail=1", ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, vitest, { cwd, maxBuffer: Infinity }, (error, stdout) => {
      if (error === null) resolve("pass");
      else resolve(/Tests .*\d failed/.test(stdout) ? "fail" : "do not run");
    });
  });
}
