import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";

// The one folder that there is, which other tests serve meanwhile, as a running `wrangler dev` would.
const PUBLIC = "public";
const UNFINISHED = ".dist/unfinished";
const HOUR = 3_600_000;

const build = () => promisify(execFile)(process.execPath, ["openapi/build.ts"]);

const files = () =>
  readdirSync(PUBLIC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const placed: string[] = [];
/** A file that no build writes, `age` milliseconds old. */
function place(path: string, age: number): string {
  placed.push(path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  const changed = new Date(Date.now() - age);
  utimesSync(path, changed, changed);
  return path;
}
afterEach(() => {
  for (const path of placed.splice(0)) rmSync(path, { force: true });
});

test("a page whose source is gone is not deployed", async () => {
  const gone = [place(join(PUBLIC, "docs/gone.html"), 10), place(join(PUBLIC, "docs/examples/old/client.rb"), HOUR)];
  const before = files().filter((path) => !gone.includes(path));
  await build();
  expect(files()).toEqual(before);
  rmSync(join(PUBLIC, "docs/examples/old"), { recursive: true });
});

test("a file that another build writes meanwhile stays", async () => {
  // Younger than the build that is about to start.
  const fresh = place(join(PUBLIC, "docs/fresh.html"), -HOUR);
  await build();
  expect(files()).toContain(fresh);
});

test("an unfinished file stays while its build may run, and goes when it cannot", async () => {
  const running = place(join(UNFINISHED, "running"), 60_000);
  const killed = place(join(UNFINISHED, "killed"), 2 * HOUR);
  await build();
  const left = readdirSync(UNFINISHED).map((name) => join(UNFINISHED, name));
  expect(left).toContain(running);
  expect(left).not.toContain(killed);
});

test("builds that run together leave the page whole at every moment", async () => {
  const page = join(PUBLIC, "docs/versioning.html");
  const content = readFileSync(page, "utf8");
  const older = `${content}<!-- older -->`;
  // So that each of them has something to write.
  const unfinished = place(join(UNFINISHED, "older"), 0);
  writeFileSync(unfinished, older);
  renameSync(unfinished, page);
  const builds = Promise.all([build(), build(), build()]);
  // Until they are done.
  while ((await Promise.race([builds, nextTurn()])) === undefined) {
    expect([content, older]).toContain(readFileSync(page, "utf8"));
  }
  expect(readFileSync(page, "utf8")).toBe(content);
});
