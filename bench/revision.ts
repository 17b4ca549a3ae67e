import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { type Candidate, candidate, ROOT } from "./candidates.ts";

/**
 * Copies the files of another commit to a new folder in `folder`, with the tools that they ask for, and returns that folder.
 *
 * @throws Error when git does not know the revision, or its tools cannot be installed.
 */
export function checkOut(revision: string, folder: string): string {
  const commit = run(ROOT, "git", "rev-parse", "--verify", "--short", `${revision}^{commit}`).trim();
  const copy = join(folder, commit);
  const archive = `${copy}.tar`;
  mkdirSync(copy);
  // Not a worktree of git: a run that is killed would leave its entry in the repository.
  run(ROOT, "git", "archive", "--output", archive, commit);
  run(copy, "tar", "-xf", archive);
  const [ours, theirs] = [ROOT, copy].map((root) => readFileSync(join(root, "package-lock.json"), "utf8"));
  if (ours === theirs) symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  else run(copy, "npm", "ci");
  return copy;
}

/** Builds the production bundle of a folder that `checkOut` made, and returns it. @throws Error when it does not build. */
export function bundle(copy: string): string {
  const wrangler = join(copy, "node_modules/wrangler/bin/wrangler.js");
  run(copy, process.execPath, wrangler, "deploy", "--dry-run", "--env=production", "--outdir", "out");
  return readFileSync(join(copy, "out/index.js"), "utf8");
}

/** The production bundle of another commit. @throws Error of `checkOut` and of `bundle`. */
export function buildRevision(revision: string, folder: string): Candidate {
  const copy = checkOut(revision, folder);
  return candidate(`before (${basename(copy)})`, bundle(copy), copy);
}

/** Returns what it prints. When it fails, the error carries what it printed. */
function run(cwd: string, command: string, ...args: string[]): string {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" };
  return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
