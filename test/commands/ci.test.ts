import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { GUIDES, sourceOf } from "../../openapi/sources.ts";
import { affectedProjects, RULES } from "../../scripts/affected-projects.ts";
import { Checkout } from "./cloudflare/checkout.ts";

const CHOSEN = ["browser", "third-party"];
/** Beside the projects of `npm test`. */
const ALWAYS = ["commands", "world"];

test.each([
  ["src/pets/get-pet.ts", []],
  ["src/pets/pet.ts", CHOSEN],
  ["openapi/resources/pets.ts", CHOSEN],
  ["src/http/documentation.ts", CHOSEN],
  ["client/src/schema.ts", CHOSEN],
  ["test/built/project.ts", CHOSEN],
  ["package-lock.json", CHOSEN],
  [".ci/run", CHOSEN],
  ["a-new-folder/file.ts", CHOSEN],
  ["test/third-party/package-lock.json", ["third-party"]],
  ["test/load/shops.test.ts", ["load"]],
  ["docs/decisions/events.md", []],
  ...Object.keys(GUIDES).map((guide): [string, string[]] => [
    sourceOf(guide),
    guide === "client" ? CHOSEN : ["browser"],
  ]),
])("a change of %s affects %j", (file, projects) => {
  expect([...affectedProjects(["CHANGELOG.md", file])].toSorted()).toEqual(projects);
});

test("a change that is unknown affects the documentation and the tools of others", () => {
  expect([...affectedProjects([])]).toEqual(CHOSEN);
});

test("each rule is about files that are here", () => {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" });
  for (const path of RULES.flatMap(([paths]) => paths))
    expect(
      files.split("\n").filter((file) => matchesGlob(file, path)),
      path,
    ).not.toEqual([]);
});

test.each(CHOSEN)("a change of any module that the tests of %s load affects them", async (project) => {
  const { metafile } = await build({
    entryPoints: [...globSync(`test/${project}/**/*.test.ts`), "test/built/build.ts", "test/built/pack.ts"],
    bundle: true,
    metafile: true,
    outdir: "out",
    packages: "external",
    platform: "node",
    format: "esm",
    write: false,
  });
  const modules = Object.keys(metafile.inputs);
  expect(modules).toContain("scripts/wrangler.ts");
  expect(modules.filter((file) => ![...affectedProjects([file])].some((name) => name === project))).toEqual([]);
});

const checkout = new Checkout();
beforeAll(() => {
  checkout.git("branch", "--move", "main");
  const programs = join(checkout.folder, ".git/programs");
  mkdirSync(programs);
  for (const name of ["npm", "curl", "jq", "python3", "go", "chromium"])
    writeFileSync(join(programs, name), `#!/bin/sh\necho ${name} "$*" >> "$LOG"\n`, { mode: 0o755 });
  const npx = `#!/bin/sh\n[ "$1" != node ] || exec "${process.execPath}" "$2"\necho npx "$*" >> "$LOG"\n`;
  writeFileSync(join(programs, "npx"), npx, { mode: 0o755 });
});

/** Runs .ci/run without what it starts. */
function run(level: string[] = [], folder = checkout.folder) {
  const programs = join(checkout.folder, ".git/programs");
  const LOG = join(programs, "log");
  writeFileSync(LOG, "");
  const env = { ...process.env, LOG, CHROMIUM: "", PATH: `${programs}:${process.env["PATH"]}` };
  const { status, stderr } = spawnSync("bash", [".ci/run", ...level], { cwd: folder, encoding: "utf8", env });
  const commands = readFileSync(LOG, "utf8").split("\n").slice(0, -1);
  const projects = commands.flatMap((line) => [...line.matchAll(/--project (\S+)/g)].map(([, name]) => name));
  return { status, stderr, commands, projects, chosen: projects.filter((name) => !ALWAYS.includes(name ?? "")) };
}

test(".ci/run all runs every project and check, and plants no bug", () => {
  const { status, commands, projects } = run(["all"]);
  expect(status).toBe(0);
  const inTest = ["workerd", "built"];
  // Its packages take too long: a maintainer runs it.
  const byHand = ["languages"];
  const names = [...readFileSync("vitest.config.ts", "utf8").matchAll(/^ {10}name: "(.+)"/gm)].map(([, name]) => name);
  expect([...inTest, ...byHand, ...projects].toSorted()).toEqual(names.toSorted());
  expect(commands).toEqual(
    expect.arrayContaining([
      "npm ci",
      "npm run check",
      "npm test",
      "npm run check:expand",
      "npm run bench:rows",
      "npm run bench:start",
    ]),
  );
  expect(commands.filter((line) => line.includes("mutants"))).toEqual([]);
});

test(".ci/run of another level runs nothing", () => {
  expect(run(["al"])).toMatchObject({ status: 2, commands: [] });
});

test("on main, and where the change is unknown, .ci/run runs what a change may affect", () => {
  appendFileSync(join(checkout.folder, "src/pets/get-pet.ts"), "//\n");
  const onMain = run();
  expect(onMain.chosen).toEqual(CHOSEN);
  expect(onMain.commands).toContain("npm ci --prefix test/third-party --loglevel=error");
  expect(onMain.commands.join("\n")).not.toContain("bench");
  const shallow = join(checkout.folder, ".git/shallow-clone");
  checkout.git("clone", "--quiet", "--depth=1", `file://${checkout.folder}`, shallow);
  execFileSync("git", ["switch", "--quiet", "--create", "branch"], { cwd: shallow });
  appendFileSync(join(shallow, "src/pets/get-pet.ts"), "//\n");
  expect(run([], shallow).chosen).toEqual(CHOSEN);
  checkout.git("branch", "--move", "trunk");
  expect(run().chosen).toEqual(CHOSEN);
  checkout.git("reset", "--quiet", "--hard");
  checkout.git("branch", "--move", "main");
  checkout.git("switch", "--quiet", "--detach");
  expect(run().chosen).toEqual(CHOSEN);
});

test("on a branch, .ci/run compares the files with main, committed or not", () => {
  checkout.git("switch", "--quiet", "--create", "branch");
  const file = (name: string) => join(checkout.folder, name);
  appendFileSync(file("src/pets/get-pet.ts"), "//\n");
  checkout.commit("A handler");
  const handler = run();
  expect(handler).toMatchObject({ status: 0, stderr: "", projects: ALWAYS });
  expect(handler.commands.filter((line) => /third-party|chromium/.test(line))).toEqual([]);

  appendFileSync(file("docs/errors.md"), "\n");
  expect(run().chosen).toEqual(["browser"]);
  checkout.git("reset", "--quiet", "--hard");

  writeFileSync(file("src/new.ts"), "");
  expect(run().chosen).toEqual(CHOSEN);
  rmSync(file("src/new.ts"));

  // Gone from a place that every project reads.
  renameSync(file("src/http/cors.ts"), file("src/log/cors.ts"));
  checkout.commit("A move");
  expect(run().chosen).toEqual(CHOSEN);
});
