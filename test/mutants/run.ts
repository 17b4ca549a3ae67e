// npm run test:mutants: plants each bug of the lists in this folder in a copy of the project and runs the tests that have to find it.
// Fails when they pass, and when the line of a bug is no longer there. An argument chooses the bugs whose file begins with it.
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { git } from "../../scripts/git.ts";
import { BACKUPS } from "./backups.ts";
import { CHANGES } from "./changes.ts";
import { CLIENT } from "./client.ts";
import { KEYS } from "./keys.ts";
import type { Mutant } from "./mutant.ts";
import { PROGRESS } from "./progress.ts";
import { READS } from "./reads.ts";
import { RELEASES } from "./releases.ts";
import { REQUESTS } from "./requests.ts";
import { WEBHOOKS } from "./webhooks.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Bugs that are planted at once, each in a copy of its own. */
const AT_ONCE = 2;

const [chosen = ""] = process.argv.slice(2);
const lists = [CHANGES, READS, REQUESTS, CLIENT, KEYS, RELEASES, BACKUPS, WEBHOOKS, PROGRESS];
const mutants = lists.flat().filter(({ file }) => file.startsWith(chosen));

const folder = mkdtempSync(join(tmpdir(), "petstore-mutants-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
/** Node.js then compiles Vitest and wrangler once for all bugs. */
const ENVIRONMENT = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compile-cache") };
const copies = Array.from({ length: AT_ONCE }, (_, index) => join(folder, String(index)));
for (const copy of copies) {
  for (const file of git("ls-files", "--cached", "--others", "--exclude-standard").split("\n")) {
    // Git lists a file that was removed until the removal is committed.
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(copy, file));
  }
  // Not one link: Vite keeps what it bundles for workerd in this folder.
  mkdirSync(join(copy, "node_modules"));
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    if (name !== ".vite") symlinkSync(join(ROOT, "node_modules", name), join(copy, "node_modules", name));
  }
  // The tests of releases ask git for the files.
  git("init", "--quiet", copy);
}

interface Run extends Pick<Mutant, "project" | "tests"> {
  names: string[];
}

/** Whether tests pass or fail. They do neither when Vitest or a module does not start. */
function run(cwd: string, { project, tests, names }: Run): Promise<"pass" | "fail" | "do not run"> {
  const named = names.length === 0 ? [] : ["-t", names.map((name) => RegExp.escape(name)).join("|")];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--bail=1", "--project", project, ...named, ...tests];
  return new Promise((resolve) => {
    execFile(process.execPath, vitest, { cwd, env: ENVIRONMENT, maxBuffer: Infinity }, (error, stdout) => {
      if (error === null) resolve("pass");
      else resolve(/Tests .*\d failed/.test(stdout) ? "fail" : "do not run");
    });
  });
}

/** Why a mutant is not found, if it is not. */
async function problemOf(copy: string, { file, was, becomes, project, tests, name }: Mutant) {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  if (source.split(was).length !== 2) return "its line has to be there once";
  writeFileSync(
    path,
    source.replace(was, () => becomes),
  );
  try {
    const outcome = await run(copy, { project, tests, names: name === undefined ? [] : [name] });
    return outcome === "fail" ? undefined : `its tests ${outcome}`;
  } finally {
    writeFileSync(path, source);
  }
}

/** The tests of some mutants, each file once. */
const runOf = (project: Mutant["project"], some: readonly Mutant[]): Run => ({
  project,
  tests: [...new Set(some.flatMap(({ tests }) => tests))],
  names: [...new Set(some.flatMap(({ name }) => name ?? []))],
});

/** @throws Error unless the tests pass without a bug. */
async function checkTests(): Promise<void> {
  const [copy = ""] = copies;
  for (const project of new Set(mutants.map((mutant) => mutant.project))) {
    const own = mutants.filter((mutant) => mutant.project === project);
    const kinds = [own.filter(({ name }) => name === undefined), own.filter(({ name }) => name !== undefined)];
    for (const some of kinds) {
      const outcome = some.length === 0 ? "pass" : await run(copy, runOf(project, some));
      if (outcome !== "pass") throw new Error(`Without a bug, tests of ${project} ${outcome}.`);
    }
  }
}

const missed: Mutant[] = [];
const queue = mutants.values();

async function plantAll(copy: string): Promise<void> {
  for (const mutant of queue) {
    const problem = await problemOf(copy, mutant);
    if (problem !== undefined) missed.push(mutant);
    const { file, bug, project, tests } = mutant;
    const outcome = problem === undefined ? "found " : "MISSED";
    console.log(`${outcome} ${file}: ${bug} (${problem ?? `${project}, ${tests.join(", ")}`})`);
  }
}

await checkTests();
await Promise.all(copies.map(plantAll));
console.log(`${mutants.length - missed.length} passed, ${missed.length} failed`);
process.exitCode = missed.length === 0 ? 0 : 1;
