import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildBundle } from "../scripts/wrangler.ts";

/** A Worker that is compared with others: all of them answer the same requests. */
export interface Candidate {
  name: string;
  /** The bundle, one ES module. */
  script: string;
  /** Bytes of the bundle after gzip. Cloudflare's limit on the size of a Worker counts these. */
  gzip: number;
  /** SQL that makes the tables it works on. */
  migrations: string[];
}

export const SERVICE = "this service";
/** The same responses as the service, without any library. */
export const FLOOR = "hand-written";
/** The same lookups and the same SQL, and nothing else: the lower limit. */
export const BARE = "bare";
/** The stack as its tutorials show it, without middleware. */
export const TUTORIAL_PLAIN = "tutorial-plain";
/** The same stack with Hono's middleware for everything that the service does. */
export const TUTORIAL = "tutorial";
/** A Worker that only answers: the cost of workerd itself. */
export const EMPTY = "empty";
export const BASELINES = [FLOOR, BARE, TUTORIAL_PLAIN, TUTORIAL, "chanfana", "zod-openapi", EMPTY];

export const ROOT = join(import.meta.dirname, "..");

/** Of the service, and so of every candidate. */
export const COMPATIBILITY_DATE =
  /^compatibility_date = "(.+)"/m.exec(readFileSync(join(ROOT, "wrangler.toml"), "utf8"))?.[1] ?? "";

/** The production bundle of the service, as `wrangler deploy` makes it. */
export async function buildService(): Promise<Candidate> {
  const outdir = await buildBundle("production");
  return candidate(SERVICE, readFileSync(join(ROOT, outdir, "index.js"), "utf8"));
}

/** Baselines by their names, bundled with the settings that wrangler uses for the service. */
export async function buildBaselines(names: string[]): Promise<Candidate[]> {
  const unknown = names.filter((name) => !BASELINES.includes(name));
  if (unknown.length > 0) throw new Error(`No baseline ${unknown.join(", ")}. There are: ${BASELINES.join(", ")}.`);
  if (!existsSync(join(ROOT, "bench/node_modules"))) {
    execFileSync("npm", ["ci"], { cwd: join(ROOT, "bench"), stdio: "inherit" });
  }
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: names.map((name) => join(ROOT, `bench/baselines/${name}.ts`)),
    outdir: "/",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    write: false,
  });
  return names.map((name) => candidate(name, outputFiles.find(({ path }) => path === `/${name}.js`)?.text ?? ""));
}

/** @param root of the project whose tables the script works on. */
export function candidate(name: string, script: string, root = ROOT): Candidate {
  const folder = join(root, "drizzle");
  const files = readdirSync(folder).filter((file) => file.endsWith(".sql"));
  const migrations = files
    .toSorted()
    .flatMap((file) => readFileSync(join(folder, file), "utf8").split("--> statement-breakpoint"));
  return { name, script, gzip: gzipSync(script).length, migrations };
}
