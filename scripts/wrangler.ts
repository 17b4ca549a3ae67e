import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { endChild, startChild } from "./child.ts";

const FOLDER = join(import.meta.dirname, "../node_modules/wrangler");
const WRANGLER = join(FOLDER, "bin/wrangler.js");
/** Without the process in between that only looks at the version of Node.js. */
const PROGRAM = join(FOLDER, "wrangler-dist/cli.js");

/** Environment variables that make wrangler quiet and offline, whatever the caller's environment is. */
export const WRANGLER_SETTINGS = {
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_LOG: "log",
  // Disables the lookup of `Request.cf`, which the scripts do not use. Offline, each start would print a warning.
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  // It would keep spans and log lines of each request, which nobody reads here. They are a fifth of the CPU of a delivery.
  X_LOCAL_OBSERVABILITY: "false",
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
 * Runs wrangler to its end, and returns what it printed on standard output. It ends with this process.
 *
 * @param env its environment, that of this process unless given.
 * @param onLine is told each line that it prints, on either output, as soon as it is there.
 * @param patience milliseconds after which it is ended, and has failed.
 * @throws Error with all that it printed, when it fails.
 */
export async function runWrangler(
  args: readonly string[],
  {
    env = process.env,
    onLine,
    patience,
  }: { env?: NodeJS.ProcessEnv; onLine?: (line: string) => void; patience?: number } = {},
): Promise<string> {
  const child = startChild([PROGRAM, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...env, ...WRANGLER_SETTINGS },
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    const stream = child[name]?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      output[name] += text;
    });
    if (stream && onLine !== undefined) createInterface({ input: stream }).on("line", onLine);
  }
  const hanging = patience === undefined ? undefined : setTimeout(() => endChild(child), patience);
  const [code]: unknown[] = await once(child, "close");
  clearTimeout(hanging);
  if (code === null && patience !== undefined)
    throw new Error(`wrangler ${args.slice(0, 3).join(" ")} was ended after at most ${patience / 1_000} seconds.`);
  if (code !== 0) throw new Error(`wrangler ${args.slice(0, 3).join(" ")} failed.\n${output.stdout}${output.stderr}`);
  return output.stdout;
}

/** Builds the bundle that `wrangler deploy` would upload to an environment. Returns the folder with its index.js. */
export async function buildBundle(environment: "local" | "production"): Promise<string> {
  const outdir = `.dist/${environment}`;
  await runWrangler(["deploy", "--dry-run", `--env=${environment === "local" ? "" : environment}`, "--outdir", outdir]);
  return outdir;
}
