import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname, join } from "node:path";

const WRANGLER = join(import.meta.dirname, "../node_modules/wrangler/bin/wrangler.js");

/** How wrangler behaves under our scripts, whatever the caller's environment says: quiet, and without the network. */
export const WRANGLER_SETTINGS = {
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_LOG: "log",
  // The location in `Request.cf`, which nothing here depends on. Offline, each start would complain.
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  // The [build] command is run by the Node.js that runs this script.
  PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
};

/** Starts wrangler with the Node that runs this script. */
export function startWrangler(args: string[], options: SpawnOptions): ChildProcess {
  return spawn(process.execPath, [WRANGLER, ...args], {
    ...options,
    env: { ...process.env, ...WRANGLER_SETTINGS },
  });
}

/**
 * Runs wrangler to its end, and returns what it printed on standard output.
 *
 * @throws Error with all that it printed, when it fails.
 */
export async function runWrangler(args: string[]): Promise<string> {
  const child = startWrangler(args, { stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const [code]: unknown[] = await once(child, "close");
  if (code !== 0) throw new Error(`wrangler ${args.slice(0, 3).join(" ")} failed.\n${output.stdout}${output.stderr}`);
  return output.stdout;
}

/** Builds what `wrangler deploy` would upload to an environment. Returns the folder that holds its index.js. */
export async function buildBundle(environment: "local" | "staging" | "production"): Promise<string> {
  const outdir = `.dist/${environment}`;
  await runWrangler(["deploy", "--dry-run", `--env=${environment === "local" ? "" : environment}`, "--outdir", outdir]);
  return outdir;
}
