import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { git } from "../../scripts/git.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Bugs that are planted at once, each in a copy of its own. */
const AT_ONCE = 2;

const folder = mkdtempSync(join(tmpdir(), "petstore-mutants-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
/** Node.js then compiles Vitest and wrangler once for all bugs. */
process.env["NODE_COMPILE_CACHE"] = join(folder, "compile-cache");

/** Copies the project, with uncommitted changes. @returns the folders of the copies. */
export function makeCopies(): string[] {
  const copies = Array.from({ length: AT_ONCE }, (_, index) => join(folder, String(index)));
  for (const copy of copies) {
    for (const file of git("ls-files", "--cached", "--others", "--exclude-standard").split("\n")) {
      // Git lists a file that was removed until the removal is committed.
      if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(copy, file));
    }
    // Not one link: Vite and Vitest keep what they bundle and transform in this folder.
    mkdirSync(join(copy, "node_modules"));
    for (const name of readdirSync(join(ROOT, "node_modules"))) {
      if (!name.startsWith(".vit")) symlinkSync(join(ROOT, "node_modules", name), join(copy, "node_modules", name));
    }
    // The tests of releases ask git for the files.
    git("init", "--quiet", copy);
  }
  return copies;
}
