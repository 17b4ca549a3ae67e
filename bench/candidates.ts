import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { git } from "../scripts/git.ts";
import { bundleOf, checkOut } from "../scripts/revision.ts";
import { buildBundle } from "../scripts/wrangler.ts";

/** A Worker that is compared with others on the same requests. */
export interface Candidate {
  name: string;
  /** The bundle, one ES module. */
  script: string;
  /** Bytes of the bundle after gzip. Cloudflare's limit on the size of a Worker counts these. */
  gzip: number;
  /** The folder of the migrations of its database. */
  migrations: string;
  /** A statement that adds rows to its database, beside the animals. */
  insert?: string;
}

/** The same responses as the service (only cursors differ), log and rate limit, without any library. */
export const FLOOR = "hand-written";
/** The same lookups and SQL, without any library, log, rate limit, or headers but `Content-Type`. */
export const BARE = "bare";
/** The CPU of a start that responds to a list, at most, in that of the bare Worker. A new isolate makes a client wait for it. */
export const LARGEST_START = 1.7;

const ROOT = join(import.meta.dirname, "..");

/** The production bundle of the service, as `wrangler deploy` makes it. */
export async function buildService(): Promise<Candidate> {
  return candidate("this service", readFileSync(join(ROOT, await buildBundle("production"), "index.js"), "utf8"));
}

/** The service with an enabled webhook, which each change nudges. */
export const withWebhook = (service: Candidate): Candidate => ({
  ...service,
  name: "with a webhook",
  insert: `INSERT INTO webhooks (tag, url, types, created_by, created_at, place)
    VALUES (1, 'https://hooks.example.com/', '["pet.created"]', 'key_000000000000', '2026-01-01T00:00:00.000Z', '')`,
});

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
  return { name, script, gzip: gzipSync(script).length, migrations: join(root, "drizzle") };
}
