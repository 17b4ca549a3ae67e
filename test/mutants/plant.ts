// A process that test/mutants/run.ts starts in a copy of the project. One Vitest, which loads the project once, runs the tests of many
// mutants.
import { writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { API } from "typescript/unstable/sync";
import { createVitest, type TestSpecification } from "vitest/node";
import { PROJECTS } from "./operators.ts";
import { run, runToFailure } from "./vitest.ts";

export interface Mutation {
  file: string;
  original: string;
  source: string;
}

/** What finds a mutation, or why that is unknown. */
export interface Outcome {
  by?: string;
  error?: string;
}

/** Errors of unused names and unreachable code, which say nothing of the behaviour. */
const UNUSED = new Set([6133, 6192, 6196, 6198, 6199, 7027, 7028]);
/** The tests of a folder that has none of its own name, or more. They run first. */
const RELATED: { [folder: string]: RegExp } = {
  "src/changes": /test\/(events|pets|categories)\//,
  "src/db": /test\/(http|battery\/bookmark|pets)/,
  "src/exact": /test\/(exact\/|pets\/create-pet\.|orders\/change-order)/,
  "src/feed": /test\/(events|battery\/events)/,
  "src/hash": /test\/(auth|http\/cursor|battery\/idempotency)/,
  "src/http": /test\/(http|battery\/[bgq]|pets\/(create-pet|list-pets)\.)/,
  "src/idempotency": /test\/(battery\/idempotency|pets\/create-pet\.)/,
  "client/src": /test\/built\/client\//,
};

/** The tests of the commands in each folder of `ops/`, those first that find most in a second. */
const COMMANDS: { [folder: string]: string[] } = {
  "ops/backup": ["backup"],
  "ops/doctor": ["doctor"],
  "ops/keys": ["keys-cli", "keys-show", "every-command", "keys-revocation", "keys-rotation"],
  "ops/preview": ["preview", "every-command"],
  "ops/release":
    "configuration every-command release-refused rollback cloudflare-api release preview doctor backup".split(" "),
  "ops/webhooks": ["doctor"],
};
const BUNDLE = "the tests of its bundle";

/** The SQL of the statements, which the tests make anew of the source. */
const STATEMENTS = resolve("drizzle/statements.ts");
/** Files that take longer than most together. They follow. */
const SLOW = /test\/(webhooks\/(standstill|schedule|delivery)|battery\/idempotency|openapi\/compatibility)/;

// Without `bail`: a run after one that it ended may be cancelled too, and then finds nothing.
const vitest = await createVitest(
  "test",
  { watch: true, project: ["workerd", "built"], reporters: [{}], maxWorkers: 1 },
  { server: { watch: null } },
);
const all = await vitest.globTestSpecifications();
const api = new API({ cwd: resolve() });
api.updateSnapshot({ openProjects: PROJECTS.map((path) => resolve(path)) });

/** Whether a file compiles. The other files are left out, which saves a second. */
function compiles(path: string): boolean {
  const snapshot = api.updateSnapshot({ fileChanges: { changed: [path] } });
  const programs = snapshot.getProjects().flatMap(({ program }) => (program.getSourceFile(path) ? [program] : []));
  const problems = programs.flatMap((program) => [
    ...program.getSyntacticDiagnostics(path),
    ...program.getSemanticDiagnostics(path),
  ]);
  return problems.every(({ code }) => UNUSED.has(code));
}

/** What has passed alone without a mutant. */
const sound = new Set<string>();

/** The first file that fails. It has to fail alone too: a test may depend on those before it, and on how busy the machine is. */
async function failureAmong(specifications: TestSpecification[]): Promise<string | undefined> {
  if (specifications.length === 0) return undefined;
  const { testModules } = await vitest.runTestSpecifications(specifications);
  // It also has what earlier runs left of other files.
  const failed = testModules.filter((module) => module.state() === "failed").map(({ moduleId }) => moduleId);
  const first = specifications.find(({ moduleId }) => failed.includes(moduleId));
  if (first === undefined) return undefined;
  if (specifications.length === 1 || (await failureAmong([first])) !== undefined) return first.moduleId;
  return failureAmong(specifications.filter((one) => one !== first));
}

/** The tests in one process: those of the folder first, those of the bundle last, which also have the client. */
async function failureOfService(folder: string): Promise<string | undefined> {
  const isClient = folder.startsWith("client");
  const related = RELATED[folder] ?? RegExp(folder.replace("src", "test"));
  const own = all.filter(({ project }) => project.name === (isClient ? "built" : "workerd"));
  const stageOf = ({ moduleId }: TestSpecification) => (related.test(moduleId) ? (SLOW.test(moduleId) ? 1 : 0) : 2);
  for (const stage of isClient ? [0] : [0, 1, 2]) {
    const failed = await failureAmong(own.filter((one) => stageOf(one) === stage));
    if (failed !== undefined) return failed;
  }
  return (await passes(BUNDLE)) ? undefined : BUNDLE;
}

/** Whether a file, or the tests of the bundle, passes alone. */
async function passes(path: string): Promise<boolean> {
  if (path === BUNDLE) return (await run(".", ["--project=built"])) === "pass";
  if (path.startsWith("test/commands/")) return (await run(".", ["--project=commands", path])) === "pass";
  return (await failureAmong(all.filter(({ moduleId }) => moduleId === path))) === undefined;
}

/** The tests of a command run processes of their own, and some files take minutes: one after the other, until one fails. */
async function failureOfCommand(folder: string): Promise<string | undefined> {
  // A file beside these folders serves all commands.
  for (const name of COMMANDS[folder] ?? new Set(Object.values(COMMANDS).flat())) {
    const path = `test/commands/${name}.test.ts`;
    if ((await runToFailure(".", ["--project=commands", path])) !== "pass") return path;
  }
  return undefined;
}

/** What finds a mutant: its types, the name of a test, or the tests of a bundle that has it. */
async function find({ file, original, source }: Mutation): Promise<string | undefined> {
  const path = resolve(file);
  const write = (text: string) => {
    writeFileSync(path, text);
    // With the SQL of its statements.
    for (const changed of [path, STATEMENTS]) vitest.invalidateFile(changed);
  };
  write(source);
  try {
    if (!compiles(path)) return "types";
    const folder = file.split("/").slice(0, 2).join("/");
    const failed = await (folder.startsWith("ops") ? failureOfCommand : failureOfService)(folder);
    if (failed === undefined) return undefined;
    write(original);
    if (!sound.has(failed) && !(await passes(failed))) throw new Error(`Without a mutant, ${failed} fails.`);
    sound.add(failed);
    return failed === BUNDLE ? failed : relative(".", failed);
  } finally {
    write(original);
  }
}

process.on("message", (mutation: Mutation) => {
  find(mutation).then(
    (by) => process.send?.({ by }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
// With workerd.
process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
