// npm run check:expand: the code of the last release works on the newest schema, which it meets during every deployment. Starts that
// code on the schema that it knows, applies the later migrations while it runs, and sends it requests.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { newMigrations, previousRelease } from "./expand/previous-release.ts";
import { git } from "./git.ts";
import { runNpm } from "./npm.ts";
import { oneLine } from "./one-line.ts";
import { WRANGLER_SETTINGS } from "./wrangler.ts";

try {
  console.log(await check());
} catch (error) {
  console.error(oneLine(error));
  process.exitCode = 1;
}

/** @throws Error when the old code fails on the new schema, and when it cannot be run. */
async function check(): Promise<string> {
  const release = previousRelease();
  if (release === undefined) return "There is no earlier release and no earlier migration to compare with.";
  const migrations = newMigrations(release.commit);
  if (migrations.length === 0) return `There is no migration since ${release.name}.`;

  const folder = join(mkdtempSync(join(tmpdir(), "petstore-expand-")), "release");
  git("worktree", "add", "--quiet", "--detach", folder, release.commit);
  try {
    await installPackages(folder);
    Object.assign(process.env, WRANGLER_SETTINGS);
    // Loaded here, because it takes more than a second, and there may be nothing to check.
    const { tryOnNewSchema } = await import("./expand/service.ts");
    await tryOnNewSchema(folder, resolve("drizzle")).catch((error: unknown) => {
      const reason = `The code of ${release.name} fails on the schema of ${migrations.join(", ")}: ${oneLine(error)}`;
      throw new Error(reason, { cause: error });
    });
    return `The code of ${release.name} works on the schema of ${migrations.join(", ")}.`;
  } finally {
    git("worktree", "remove", "--force", folder);
    rmSync(join(folder, ".."), { recursive: true, force: true });
  }
}

/** Gives the old code its packages: ours when they are the same. */
async function installPackages(folder: string): Promise<void> {
  const lock = (root: string) => readFileSync(join(root, "package-lock.json"), "utf8");
  if (lock(folder) === lock(".")) return symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  cpSync(".npmrc", join(folder, ".npmrc"));
  if (!(await runNpm(["ci", "--no-audit"], folder))) throw new Error("npm ci failed for the code of the last release.");
}
