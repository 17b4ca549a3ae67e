import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { git } from "./git.ts";
import { runNpm } from "./npm.ts";
import { WRANGLER_SETTINGS } from "./wrangler.ts";

/**
 * Copies the files of a commit to a new folder, with the packages of its bundle, and esbuild. It reuses the installed packages when they are the
 * same.
 *
 * @throws Error when git does not know the commit, or its packages cannot be installed.
 */
export async function checkOut(commit: string, folder: string): Promise<void> {
  mkdirSync(folder);
  // Not a git worktree, because a killed run would leave its entry in the repository.
  git("archive", "--output", `${folder}.tar`, commit);
  execFileSync("tar", ["-xf", `${folder}.tar`, "-C", folder]);
  // The bundle has no pages, and the packages that write them take long to install.
  const config = join(folder, "wrangler.toml");
  writeFileSync(config, readFileSync(config, "utf8").replace(/^\[build\]\n(?:.+\n)+/m, ""));
  mkdirSync(join(folder, "public"), { recursive: true });
  const lock = (root: string) => readFileSync(join(root, "package-lock.json"), "utf8");
  if (lock(folder) === lock(".")) return symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  cpSync(".npmrc", join(folder, ".npmrc"));
  if (!(await runNpm(["ci", "--omit=dev"], folder))) throw new Error(`npm ci failed for the code of ${commit}.`);
  symlinkSync(resolve("node_modules/esbuild"), join(folder, "node_modules/esbuild"));
}

/** Builds the production bundle of a folder that `checkOut` made, with the present wrangler. @throws Error when it does not build. */
export function bundleOf(folder: string): string {
  const compiler = join(folder, "scripts/compile-statements.ts");
  if (existsSync(compiler)) execFileSync(process.execPath, [compiler]);
  const wrangler = resolve("node_modules/wrangler/bin/wrangler.js");
  execFileSync(process.execPath, [wrangler, "deploy", "--dry-run", "--env=production", "--outdir=out"], {
    cwd: folder,
    env: { ...process.env, ...WRANGLER_SETTINGS },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return readFileSync(join(folder, "out/index.js"), "utf8");
}
