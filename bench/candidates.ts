import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { git } from "../scripts/git.ts";
import { bundleOf, checkOut } from "../scripts/revision.ts";
import { buildBundle } from "../scripts/wrangler.ts";

/** A Worker that is compared with others on the same requests. */
export interface Candidate {
  name: string;
  /** The bundle, one ES module. */
  script: string;
  /** The folder of the migrations of its database. */
  migrations: string;
}

/** The same responses as the service (only cursors differ), log and rate limit, without any library. */
export const FLOOR = "hand-written";
/** The same lookups and SQL, without any library, log, rate limit, or headers but `Content-Type`. */
export const BARE = "bare";
/** The CPU of a start that responds to a list, at most, in that of the bare Worker: 1.9 on an idle machine, 2.0 on a busy one. A new isolate makes a client wait for it. */
export const LARGEST_START = 2.2;
/** The CPU of a request in that of an earlier version, at most. The same bundle twice differs by some hundredths. */
export const LARGEST_RISE = 1.1;

const ROOT = join(import.meta.dirname, "..");

/** The production bundle of the service, as `wrangler deploy` makes it. */
export async function buildService(): Promise<Candidate> {
  return candidate("this service", readFileSync(join(ROOT, await buildBundle("production"), "index.js"), "utf8"));
}

/** The production bundle of another commit. @throws Error when it cannot be built. */
export async function buildRevision(revision: string, folder: string): Promise<Candidate> {
  const commit = git("rev-parse", "--verify", "--short", `${revision}^{commit}`);
  const copy = join(folder, commit);
  await checkOut(commit, copy);
  return candidate(`before (${commit})`, bundleOf(copy), copy);
}

/** The Workers in baselines/, bundled with the settings that wrangler uses for the service. */
export async function buildBaselines(): Promise<Candidate[]> {
  const { outputFiles } = await build({
    entryPoints: [FLOOR, BARE].map((name) => join(ROOT, `bench/baselines/${name}.ts`)),
    outdir: "out",
    minify: true,
    format: "esm",
    target: "es2024",
    write: false,
  });
  return [FLOOR, BARE].map((name, index) => candidate(name, outputFiles[index]?.text ?? ""));
}

function candidate(name: string, script: string, root = ROOT): Candidate {
  return { name, script, migrations: join(root, "drizzle") };
}
