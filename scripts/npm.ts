import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ChildOptions, startChild } from "./child.ts";

/**
 * Runs npm to its end. It prints on standard error.
 *
 * @param cwd the folder of the package. The present one unless given.
 * @returns whether it succeeded.
 */
export async function runNpm(args: readonly string[], cwd?: string): Promise<boolean> {
  // The npm that started this command, which need not be the first in PATH.
  const npm = process.env["npm_execpath"];
  const options: ChildOptions = { stdio: ["ignore", 2, 2], ...(cwd !== undefined && { cwd }) };
  const child = npm === undefined ? spawn("npm", args, options) : startChild([npm, ...args], options);
  const [code]: unknown[] = await once(child, "close");
  return code === 0;
}
