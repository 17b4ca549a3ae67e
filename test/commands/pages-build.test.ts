import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { SOURCES } from "../../openapi/sources.ts";
import { temporaryFolder } from "../built/folder.ts";

const HOUR = 3_600_000;

/** A copy of the sources, built. */
const project = temporaryFolder();
beforeAll(async () => {
  for (const source of SOURCES) cpSync(source, join(project, source), { recursive: true });
  symlinkSync(resolve("node_modules"), join(project, "node_modules"));
  await build();
});

const path = (file: string) => join(project, file);
const read = (file: string) => readFileSync(path(file), "utf8");
const build = () => promisify(execFile)(process.execPath, [path("openapi/build.ts")]);

function publicFiles(): string[] {
  return readdirSync(path("public"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** A file that no build writes, `age` milliseconds old. */
function place(file: string, age: number): void {
  mkdirSync(dirname(path(file)), { recursive: true });
  writeFileSync(path(file), "");
  const changed = new Date(Date.now() - age);
  utimesSync(path(file), changed, changed);
}

test("a build follows every change of a source", async () => {
  appendFileSync(path("docs/errors.md"), "\nFirst.\n");
  writeFileSync(path("examples/clients/new.txt"), "new");
  await build();
  expect(read("public/docs/errors.html")).toContain("<p>First.</p>");
  expect(read("public/docs/examples/new.txt")).toBe("new");
  rmSync(path("examples/clients/new.txt"));
  await build();
  expect(existsSync(path("public/docs/examples/new.txt"))).toBe(false);
});

/** Whether a build makes the pages. `PAGES` as `npm run dev` sets it. */
async function makesPages(pages: "later" | "now"): Promise<boolean> {
  const child = fork(path("openapi/build.ts"), { env: { ...process.env, PAGES: pages } });
  let built = false;
  child.on("message", () => (built = true));
  expect(await once(child, "close")).toEqual([0, null]);
  return built;
}

test("a build makes the pages for a change of src/ that shows in them only", async () => {
  const [errors, key] = ["src/errors.ts", "src/local-api-key.ts"] as const;
  appendFileSync(path(errors), "\n// No page shows this.\n");
  expect(await makesPages("now")).toBe(false);
  const before = read(key);
  writeFileSync(path(key), before.replace(/NotASecret/, "NotASECRET"));
  expect(await makesPages("later")).toBe(false);
  expect(await makesPages("now")).toBe(true);
  expect(read("public/docs.html")).toContain("NotASECRET");
  writeFileSync(path(key), before);
  expect(await makesPages("now")).toBe(true);
});

test("a build with nothing to do loads no package", async () => {
  renameSync(path("node_modules"), path("elsewhere"));
  await expect(build()).resolves.toEqual({ stdout: "", stderr: "" });
  const page = read("public/docs/keys.html");
  appendFileSync(path("public/docs/keys.html"), "x");
  await expect(build()).rejects.toThrow("ERR_MODULE_NOT_FOUND");
  renameSync(path("elsewhere"), path("node_modules"));
  await build();
  expect(read("public/docs/keys.html")).toBe(page);
});

test("a build removes a page without a source and an old unfinished file, and keeps the files of a concurrent build", async () => {
  const before = publicFiles();
  place("public/docs/gone.html", 10);
  place("public/docs/examples/old/client.rb", HOUR);
  // Newer than the build that starts next.
  place("public/docs/fresh.html", -HOUR);
  place(".dist/unfinished/running", 60_000);
  place(".dist/unfinished/killed", 2 * HOUR);
  await build();
  expect(publicFiles().toSorted()).toEqual([...before, path("public/docs/fresh.html")].toSorted());
  expect(readdirSync(path(".dist/unfinished"))).toEqual(["running"]);
  rmSync(path("public/docs/fresh.html"));
});

test("a changed asset gets a new path, and the old one is removed", async () => {
  const styles = () => publicFiles().filter((file) => file.endsWith("/page.css"));
  const before = styles();
  appendFileSync(path("openapi/page/page.css"), "\nbody {}\n");
  await build();
  expect(styles()).toHaveLength(1);
  expect(styles()).not.toEqual(before);
  expect(read("public/docs.html")).toContain(styles()[0]?.slice(path("public").length));
});

test("the page is complete at every moment during concurrent builds", async () => {
  const page = "public/docs/versioning.html";
  const content = read(page);
  // Gives each build something to write.
  const older = `${content}<!-- older -->`;
  writeFileSync(path(page), older);
  const builds = Promise.all([build(), build(), build()]);
  // Until the builds are done.
  while ((await Promise.race([builds, nextTurn()])) === undefined) {
    expect([content, older]).toContain(read(page));
  }
  expect(read(page)).toBe(content);
});
