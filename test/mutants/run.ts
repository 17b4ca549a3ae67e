// npm run test:mutants: plants each bug of bugs.txt in a copy of the project and runs the tests that have to find it.
// Fails when they pass, and when the line of a bug is no longer there. An argument chooses the files that begin with it.
// With --random: test/mutants/random.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Bug, BUGS } from "./bugs.ts";
import { makeCopies } from "./copy.ts";
import { plantRandom } from "./random.ts";
import { run } from "./vitest.ts";

const { values, positionals } = parseArgs({
  options: { random: { type: "string" }, seed: { type: "string" }, changed: { type: "boolean", default: false } },
  allowPositionals: true,
});
const [chosen = ""] = positionals;
const bugs = BUGS.filter(({ file }) => file.startsWith(chosen));
const copies = makeCopies();

/** Runs the tests of some bugs of one project, either all tests of their files or those of their names. */
const runTests = (copy: string, project: string, some: readonly Bug[]) =>
  run(copy, [
    `--project=${project}`,
    ...(some.some(({ name }) => name) ? ["-t", some.map(({ name = "" }) => RegExp.escape(name)).join("|")] : []),
    ...new Set(some.map(({ test }) => test)),
  ]);

/** Why a bug is not found, if it is not. */
async function problemOf(copy: string, bug: Bug) {
  const path = join(copy, bug.file);
  const source = readFileSync(path, "utf8");
  if (source.split(bug.was).length !== 2) return "its line has to be there once";
  writeFileSync(
    path,
    source.replace(bug.was, () => bug.becomes),
  );
  try {
    const outcome = await runTests(copy, bug.project, [bug]);
    return outcome === "fail" ? undefined : `its tests ${outcome}`;
  } finally {
    writeFileSync(path, source);
  }
}

/** @throws Error unless the tests pass without a bug. */
async function checkTests(): Promise<void> {
  const [copy = ""] = copies;
  const runs = Map.groupBy(bugs, ({ project, name }) => `${project}${name === undefined ? "" : " by name"}`);
  for (const [project = "", some] of runs) {
    const outcome = await runTests(copy, some[0]?.project ?? "", some);
    if (outcome !== "pass") throw new Error(`Without a bug, tests of ${project} ${outcome}.`);
  }
}

const missed: Bug[] = [];
const queue = bugs.values();

async function plantAll(copy: string): Promise<void> {
  for (const bug of queue) {
    const problem = await problemOf(copy, bug);
    if (problem !== undefined) missed.push(bug);
    const outcome = problem === undefined ? "found " : "MISSED";
    console.log(`${outcome} ${bug.file}: ${bug.bug} (${problem ?? bug.test})`);
  }
}

async function plantLists(): Promise<number> {
  await checkTests();
  await Promise.all(copies.map(plantAll));
  console.log(`${bugs.length - missed.length} passed, ${missed.length} failed`);
  return missed.length;
}

const { random, seed = "1", changed } = values;
const options = { count: Number(random), seed: Number(seed), chosen, changed };
process.exitCode = (await (random === undefined ? plantLists() : plantRandom(copies, options))) === 0 ? 0 : 1;
