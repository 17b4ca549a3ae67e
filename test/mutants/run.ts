// npm run test:mutants: plants each bug of mutants.ts in a copy of the project and runs the tests that have to find it. Fails when they
// pass, and when the line of a bug is no longer there. An argument chooses the bugs whose file contains it.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { git } from "../../scripts/git.ts";
import { type Mutant, MUTANTS } from "./mutants.ts";

const ROOT = join(import.meta.dirname, "../..");
const [chosen = ""] = process.argv.slice(2);
const mutants = MUTANTS.filter(({ file }) => file.includes(chosen));

const copy = mkdtempSync(join(tmpdir(), "petstore-mutants-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
process.on("SIGINT", () => process.exit(1));
for (const file of git("ls-files", "--cached", "--others", "--exclude-standard").split("\n")) {
  cpSync(join(ROOT, file), join(copy, file));
}
symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));

/** Whether tests fail. */
function fail({ project, tests }: Pick<Mutant, "project" | "tests">): boolean {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--bail=1", "--project", project, ...tests];
  const { status, stderr } = spawnSync(process.execPath, vitest, { cwd: copy, encoding: "utf8", maxBuffer: Infinity });
  // A test failed, and not the start of Vitest.
  return status !== 0 && /\bFAIL\b/.test(stderr);
}

/** Why a mutant is not found, if it is not. */
function problemOf({ file, was, becomes, ...by }: Mutant): string | undefined {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  if (source.split(was).length !== 2) return "its line has to be there once";
  writeFileSync(
    path,
    source.replace(was, () => becomes),
  );
  try {
    return fail(by) ? undefined : "its tests pass";
  } finally {
    writeFileSync(path, source);
  }
}

for (const project of new Set(mutants.map((mutant) => mutant.project))) {
  const tests = new Set(mutants.filter((mutant) => mutant.project === project).flatMap((mutant) => mutant.tests));
  if (fail({ project, tests: [...tests] })) throw new Error(`Without a bug, tests of ${project} fail too.`);
}
const missed = mutants.filter((mutant) => {
  const problem = problemOf(mutant);
  console.log(
    `${problem === undefined ? "found " : "MISSED"} ${mutant.file}: ${mutant.bug}${problem === undefined ? "" : ` (${problem})`}`,
  );
  return problem !== undefined;
});
console.log(`${mutants.length - missed.length} passed, ${missed.length} failed`);
process.exitCode = missed.length === 0 ? 0 : 1;
