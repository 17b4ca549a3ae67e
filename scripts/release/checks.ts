import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Terminal } from "../terminal.ts";

/** @throws Error unless `npm run check` passes. It prints on standard error. */
export async function runChecks(terminal: Terminal): Promise<void> {
  terminal.say("\n$ npm run check");
  // npm that started this command, which need not be the first in PATH.
  const npm = process.env["npm_execpath"];
  const [program, ...args] = npm === undefined ? ["npm"] : [process.execPath, npm];
  const child = spawn(program, [...args, "run", "check"], { stdio: ["ignore", 2, 2] });
  const [code]: unknown[] = await once(child, "close");
  if (code !== 0) throw new Error("npm run check fails, so nothing was released.");
}
