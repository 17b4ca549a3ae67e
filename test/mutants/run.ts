// npm run test:mutants: plants each bug of the lists in this folder in a copy of the project and runs the tests that have to find it.
// Fails when they pass, and when the line of a bug is no longer there. An argument chooses the bugs whose file begins with it.
// With --random: test/mutants/random.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BACKUPS } from "./backups.ts";
import { CHANGES } from "./changes.ts";
import { CLIENT } from "./client.ts";
import { makeCopies } from "./copy.ts";
import { CUSTOMERS } from "./customers.ts";
import { KEYS } from "./keys.ts";
import type { Mutant } from "./mutant.ts";
import { PROGRESS } from "./progress.ts";
import { plantRandom } from "./random.ts";
import { AGENTS } from "./agents.ts";
import { READS } from "./reads.ts";
import { RELEASES } from "./releases.ts";
import { REQUESTS } from "./requests.ts";
import { run } from "./vitest.ts";
import { WEBHOOKS } from "./webhooks.ts";

const { values, positionals } = parseArgs({
  options: { random: { type: "string" }, seed: { type: "string" }, changed: { type: "boolean", default: false } },
  allowPositionals: true,
});
const [chosen = ""] = positionals;
const lists = [AGENTS, CHANGES, READS, REQUESTS, CLIENT, KEYS, RELEASES, BACKUPS, WEBHOOKS, PROGRESS, CUSTOMERS];
const mutants = lists.flat().filter(({ file }) => file.startsWith(chosen));
const copies = makeCopies();

interface Run extends Pick<Mutant, "project" | "tests"> {
  names: string[];
}

const argumentsOf = ({ project, tests, names }: Run) => [
  "--project",
  project,
  ...(names.length === 0 ? [] : ["-t", names.map((name) => RegExp.escape(name)).join("|")]),
  ...tests,
];

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
    const outcome = await run(copy, argumentsOf({ project, tests, names: name === undefined ? [] : [name] }));
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
      const outcome = some.length === 0 ? "pass" : await run(copy, argumentsOf(runOf(project, some)));
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

async function plantLists(): Promise<number> {
  await checkTests();
  await Promise.all(copies.map(plantAll));
  console.log(`${mutants.length - missed.length} passed, ${missed.length} failed`);
  return missed.length;
}

const { random, seed = "1", changed } = values;
const options = { count: Number(random), seed: Number(seed), changed };
process.exitCode = (await (random === undefined ? plantLists() : plantRandom(copies, options))) === 0 ? 0 : 1;
