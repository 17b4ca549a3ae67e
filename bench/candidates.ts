import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type BuildOptions, type Plugin } from "esbuild";
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

export const SERVICE = "this service";
export const PETS_ALONE = "pets alone";
export const FLOOR = "hand-written";
export const BARE = "bare";
export const EMPTY = "empty";
/** The Workers in baselines/, with their descriptions. */
export const BASELINES: { [name: string]: string } = {
  [FLOOR]: "the same responses (only cursors differ), log and rate limit, without any library",
  [BARE]:
    "the lower limit: the same lookups and SQL, without any library, log, rate limit, or headers but `Content-Type`",
  "tutorial-plain": "Hono, zod, zod-validator, bearer-auth and drizzle, used as their tutorials show",
  tutorial: "tutorial-plain with Hono's middleware for log, request id, CORS and more, with scopes and a rate limit",
  chanfana: "chanfana on Hono, with the middleware of tutorial",
  "zod-openapi": "@hono/zod-openapi, with the middleware of tutorial",
  [EMPTY]: "an empty response: the cost of workerd itself",
};

const ROOT = join(import.meta.dirname, "..");

/** The production bundle of the service, as `wrangler deploy` makes it. */
export async function buildService(): Promise<Candidate> {
  return candidate(SERVICE, readFileSync(join(ROOT, await buildBundle("production"), "index.js"), "utf8"));
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

/** Baselines by their names. */
export async function buildBaselines(names: string[]): Promise<Candidate[]> {
  const unknown = names.filter((name) => !(name in BASELINES));
  if (unknown.length > 0) throw new Error(`There is no baseline ${unknown.join(", ")}.`);
  if (!existsSync(join(ROOT, "bench/node_modules"))) {
    execFileSync("npm", ["ci"], { cwd: join(ROOT, "bench"), stdio: "inherit" });
  }
  return Promise.all(names.map((name) => bundle(name, { entryPoints: [join(ROOT, `bench/baselines/${name}.ts`)] })));
}

/**
 * The service with only the routes of the animals. The difference of its start to that of the service shows whether more
 * operations slow down the start.
 *
 * @throws Error when src/v1.ts no longer mounts the routes.
 */
export async function buildPetsAlone(): Promise<Candidate> {
  const contents = `import { createRoutes } from "./operation.ts";
    import { pets } from "./pets/routes.ts";
    export const v1 = createRoutes().route("/pets", pets);`;
  const replaced: string[] = [];
  const setup: Plugin["setup"] = (bundling) =>
    bundling.onLoad({ filter: /\/src\/v1\.ts$/ }, ({ path }) => {
      replaced.push(path);
      return { contents, loader: "ts", resolveDir: dirname(path) };
    });
  const plugins = [{ name: "pets-alone", setup }];
  const petsAlone = await bundle(PETS_ALONE, { entryPoints: [join(ROOT, "src/index.ts")], plugins });
  if (replaced.length !== 1) throw new Error("src/v1.ts is not part of the service.");
  return petsAlone;
}

/** Bundles with the settings that wrangler uses for the service. */
async function bundle(name: string, options: BuildOptions): Promise<Candidate> {
  const { outputFiles } = await build({
    ...options,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:workers"],
    write: false,
  });
  return candidate(name, outputFiles?.[0]?.text ?? "");
}

function candidate(name: string, script: string, root = ROOT): Candidate {
  return { name, script, gzip: gzipSync(script).length, migrations: join(root, "drizzle") };
}
