import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const WRANGLER = join(import.meta.dirname, "../node_modules/wrangler/bin/wrangler.js");

/** Starts wrangler with the Node that runs this script. */
export function startWrangler(args: string[], options: SpawnOptions): ChildProcess {
  return spawn(process.execPath, [WRANGLER, ...args], {
    ...options,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" },
  });
}

/** Runs wrangler to its end, and returns what it printed on each stream. */
export async function runWrangler(args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startWrangler(args, { stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}
