import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";

const WRANGLER = join(import.meta.dirname, "../node_modules/wrangler/bin/wrangler.js");

/** Environment variables that make wrangler quiet and offline, whatever the caller's environment is. */
export const WRANGLER_SETTINGS = {
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_LOG: "log",
  // Disables the lookup of `Request.cf`, which the scripts do not use. Offline, each start would print a warning.
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  // The [build] command runs with the Node.js of this script.
  PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
};

/** Starts wrangler with the Node.js of this script. */
export function startWrangler(args: string[], options: SpawnOptions): ChildProcess {
  return spawn(process.execPath, [WRANGLER, ...args], {
    ...options,
    env: { ...process.env, ...options.env, ...WRANGLER_SETTINGS },
  });
}

/**
 * Runs wrangler until it exits. Returns its standard output.
 *
 * @param env further environment variables.
 * @param onLine receives each line of either output as soon as it is printed.
 * @throws Error with its whole output when it fails.
 */
export async function runWrangler(
  args: readonly string[],
  { env, onLine }: { env?: Record<string, string>; onLine?: (line: string) => void } = {},
): Promise<string> {
  const child = startWrangler([...args], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    const stream = child[name]?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      output[name] += text;
    });
    if (stream && onLine !== undefined) createInterface({ input: stream }).on("line", onLine);
  }
  const [code]: unknown[] = await once(child, "close");
  if (code !== 0) throw new Error(`wrangler ${args.slice(0, 3).join(" ")} failed.\n${output.stdout}${output.stderr}`);
  return output.stdout;
}

/** Builds the bundle that `wrangler deploy` would upload to an environment. Returns the folder with its index.js. */
export async function buildBundle(environment: "local" | "staging" | "production"): Promise<string> {
  const outdir = `.dist/${environment}`;
  await runWrangler(["deploy", "--dry-run", `--env=${environment === "local" ? "" : environment}`, "--outdir", outdir]);
  return outdir;
}
