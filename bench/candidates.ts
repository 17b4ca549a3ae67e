import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildBundle } from "../scripts/wrangler.ts";

/** What is compared: Workers that answer the same requests. */
export interface Candidate {
  name: string;
  /** The bundle, one ES module. */
  script: string;
  /** Bytes of the bundle after gzip, what Cloudflare's limit on the size of a Worker counts. */
  gzip: number;
}

export const SERVICE = "this service";
/** The Worker without any library, to which all others are compared. */
export const FLOOR = "hand-written";
/** What the tutorials of the stack show. */
export const TUTORIAL = "tutorial";
/** A Worker that only answers: what workerd costs by itself. */
export const EMPTY = "empty";
const BASELINES = [FLOOR, TUTORIAL, "chanfana", "zod-openapi", EMPTY];

const ROOT = join(import.meta.dirname, "..");

/** What the service runs with, and so everybody. */
export const COMPATIBILITY_DATE =
  /^compatibility_date = "(.+)"/m.exec(readFileSync(join(ROOT, "wrangler.toml"), "utf8"))?.[1] ?? "";

/** The bundle of production as `wrangler deploy` makes it, and the baselines bundled alike. */
export async function buildCandidates(baselines = BASELINES): Promise<Candidate[]> {
  if (!existsSync(join(ROOT, "bench/node_modules"))) {
    execFileSync("npm", ["ci"], { cwd: join(ROOT, "bench"), stdio: "inherit" });
  }
  const { build } = await import("esbuild");
  const service = readFileSync(join(ROOT, await buildBundle("production"), "index.js"), "utf8");
  const scripts = new Map([[SERVICE, service]]);
  for (const name of baselines) {
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, `bench/baselines/${name}.ts`)],
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2024",
      conditions: ["workerd", "worker", "browser"],
      write: false,
    });
    scripts.set(name, outputFiles[0]?.text ?? "");
  }
  return [...scripts].map(([name, script]) => ({ name, script, gzip: gzipSync(script).length }));
}
