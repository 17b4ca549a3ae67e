// npm run test:mutants -- --random 200 --seed 1 [--changed]: mutants by syntax, in random places of src/, client/src/ and ops/. Prints those that
// `npm test` does not find, and fails when there are any. The same seed gives the same mutants of the same source. An argument chooses the
// files that begin with it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { globSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { API } from "typescript/unstable/sync";
import { previousRelease } from "../../scripts/expand/previous-release.ts";
import { git } from "../../scripts/git.ts";
import { Random } from "../world/random.ts";
import { makeCopies } from "./copy.ts";
import { EQUIVALENT } from "./equivalent.ts";
import { mutationsOf, PROJECTS } from "./operators.ts";
import type { Mutation, Outcome } from "./plant.ts";

interface Mutant extends Mutation {
  line: number;
  /** The mutated lines. They name it in EQUIVALENT, because its line moves. */
  text: string;
}

const FOLDERS = ["src", "client/src", "ops"];
/** Milliseconds. A mutant whose tests take longer hangs. */
const TIMEOUT = 1_800_000;

const { values, positionals } = parseArgs({
  options: {
    random: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    // Only lines that differ from the last commit that this branch shares with main, or on main from the last release.
    changed: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [chosen = ""] = positionals;

function changedLines(): Set<string> {
  const isMain = git("branch", "--show-current") === "main";
  const base = isMain ? (previousRelease()?.commit ?? "HEAD") : git("merge-base", "HEAD", "main");
  const diff = git("diff", "--unified=0", "--no-prefix", base, "--", ...FOLDERS);
  return new Set(
    diff
      .split(/^\+\+\+ /m)
      .flatMap((part) =>
        [...part.matchAll(/^@@ \S+ \+(\d+)(?:,(\d+))?/gm)].flatMap(([, first, count = "1"]) =>
          Array.from({ length: Number(count) }, (_, index) => `${part.split("\n")[0]}:${Number(first) + index}`),
        ),
      ),
  );
}

function mutantsOf(file: string, api: API): Mutant[] {
  const snapshot = api.updateSnapshot();
  const tree = snapshot.getDefaultProjectForFile(resolve(file))?.program.getSourceFile(resolve(file));
  if (tree === undefined) return [];
  const { text: original } = tree;
  return mutationsOf(tree).map(({ start, end, text }) => {
    const from = original.lastIndexOf("\n", start - 1) + 1;
    const to = original.indexOf("\n", end);
    const lines = [original.slice(from, to), original.slice(from, start) + text + original.slice(end, to)];
    const [before, after] = lines.map((part) => part.replaceAll(/\s+/g, " ").trim());
    return {
      file,
      line: original.slice(0, start).split("\n").length,
      original,
      source: original.slice(0, start) + text + original.slice(end),
      text: `${before} => ${after}`,
    };
  });
}

/** Each is on a random line, so that all lines count the same, and is a random one of those that begin there. */
function* mutants(): Generator<Mutant> {
  const api = new API({ cwd: resolve() });
  api.updateSnapshot({ openProjects: PROJECTS.map((path) => resolve(path)) });
  const patterns = FOLDERS.map((folder) => `${folder}/**/*.ts`);
  const files = globSync(patterns, { exclude: ["**/*.d.ts"] }).filter((file) => file.startsWith(chosen));
  const known = new Set(EQUIVALENT.map(([file, text]) => `${file}: ${text}`));
  const all = files
    .toSorted()
    .flatMap((file) => mutantsOf(file, api))
    .filter(({ file, text }) => !known.has(`${file}: ${text}`));
  api.close();
  const wanted = values.changed ? changedLines() : undefined;
  const places = Map.groupBy(all, ({ file, line }) => `${file}:${line}`);
  const lines = [...places].filter(([place]) => wanted?.has(place) ?? true).map(([, some]) => some);
  const random = new Random(Number(values.seed));
  while (lines.length > 0) {
    const some = random.pick(lines);
    const mutant = random.pick(some);
    some.splice(some.indexOf(mutant), 1);
    if (some.length === 0) lines.splice(lines.indexOf(some), 1);
    yield mutant;
  }
}

const queue = mutants();
const counts = { found: 0, survived: 0, unknown: 0, "refused by types": 0 };

/** Plants mutants that compile, one at a time, in a copy of the project. */
async function plantIn(cwd: string): Promise<void> {
  let child: ChildProcess | undefined;
  for (const mutant of queue) {
    child ??= fork(join(import.meta.dirname, "plant.ts"), {
      cwd,
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const start = Date.now();
    child.send(mutant);
    const signal = AbortSignal.timeout(TIMEOUT);
    const outcome = await once(child, "message", { signal }).catch(() => undefined);
    const { by, error }: Outcome = outcome?.[0] ?? { by: "the end of its time" };
    if (outcome === undefined) {
      child.disconnect();
      child = undefined;
      writeFileSync(join(cwd, mutant.file), mutant.original);
    }
    const found = by === undefined ? "survived" : by === "types" ? "refused by types" : "found";
    counts[error === undefined ? found : "unknown"] += 1;
    const result = error ?? (by === undefined ? "SURVIVED" : `found by ${by}`);
    const took = `(${Math.round((Date.now() - start) / 1000)} s)`;
    if (by !== "types") console.log(`${mutant.file}:${mutant.line}: ${mutant.text}\n  ${result} ${took}`);
    if (counts.found + counts.survived + counts.unknown >= Number(values.random)) break;
  }
  child?.disconnect();
}

await Promise.all(makeCopies().map(plantIn));
console.log(counts);
process.exitCode = counts.survived + counts.unknown === 0 ? 0 : 1;
