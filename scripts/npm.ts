import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ChildOptions, startChild } from "./child.ts";

/**
 * Runs npm until it exits. Its output goes to standard error.
 *
 * @param cwd the folder of the package, by default the current one.
 * @returns whether it succeeded.
 */
export async function runNpm(args: readonly string[], cwd?: string): Promise<boolean> {
  // The npm that started this command, which may differ from the first in PATH.
  const npm = process.env["npm_execpath"];
  const options: ChildOptions = { stdio: ["ignore", 2, 2], ...(cwd !== undefined && { cwd }) };
  const child = npm === undefined ? spawn("npm", args, options) : startChild([npm, ...args], options);
  const [code]: unknown[] = await once(child, "close");
  return code === 0;
}
