import { execFileSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { upgrade } from "../../scripts/expand/upgrade.ts";
import { oneLine } from "../../ops/one-line.ts";
import { bundleOf } from "../../scripts/revision.ts";
import { temporaryFolder } from "../built/folder.ts";
import { Checkout } from "./cloudflare/checkout.ts";

const checkout = new Checkout();
checkout.useWrangler();
const bundle = bundleOf(checkout.folder);

test("without an earlier commit there is nothing to compare with", async () => {
  expect(await checkout.run("scripts/check-expand.ts", [])).toEqual({
    code: 0,
    stdout: "There is no earlier release to compare with.\n",
    stderr: "",
  });
});

test("the old code fails on a schema that refuses its rows", async () => {
  // The first commit is the last release.
  writeFileSync(
    join(checkout.folder, "drizzle/9000_change.sql"),
    "CREATE TRIGGER no_more BEFORE INSERT ON pets BEGIN SELECT RAISE(ABORT, 'no'); END;",
  );
  checkout.commit("A migration");
  const result = await checkout.run("scripts/check-expand.ts", []);
  checkout.git("reset", "--quiet", "--hard", "HEAD~1");
  expect(result.code).toBe(1);
  expect(result.stdout).not.toContain("works on the schema");
  const [, name, found] = /^The code of (.+) fails on the schema of 9000_change\.sql: (.+)$/m.exec(result.stderr) ?? [];
  expect(name).toBe("the last commit that changed openapi/released.json");
  expect(found).toBe("POST /v1/pets is 500 with the code before");
});

test.each([
  [
    "CREATE TRIGGER no_more BEFORE INSERT ON pets BEGIN SELECT RAISE(ABORT, 'no'); END;",
    /^POST \/v1\/pets is 500 with the code before$/,
  ],
  ["DELETE FROM idempotency_keys;", /^the retry of a creation .*creates again/],
  ["UPDATE pets SET version = 2 WHERE id = 99999;", /^an animal from before has changed$/],
  [
    "CREATE TRIGGER stale AFTER UPDATE OF name ON pets BEGIN UPDATE pets SET folded = 'x', folded_of = '1' || name WHERE id = NEW.id; END;",
    /^a search does not find \S+ \d+$/,
  ],
  ["ALTER TABLE pets ADD nickname text;\nCREATE TABLE toys (id integer PRIMARY KEY);", /^works$/],
])("the old code after %s", async (sql, reason) => {
  const migrations = join(checkout.folder, "changed");
  cpSync("drizzle", migrations, { recursive: true });
  writeFileSync(join(migrations, "9000_change.sql"), sql);
  const outcome = upgrade({ bundle, migrations: "drizzle" }, { bundle, migrations }).then(() => "works", oneLine);
  expect(await outcome).toMatch(reason);
});

test("a release without a migration needs no check", async () => {
  checkout.git("tag", "v1.0.0");
  checkout.commit("Something else");
  const result = await checkout.run("scripts/check-expand.ts", []);
  checkout.git("tag", "--delete", "v1.0.0");
  expect(result).toEqual({ code: 0, stdout: "There is no migration since v1.0.0.\n", stderr: "" });
});

test("a shallow clone fails, because its history is not known", async () => {
  const shallow = temporaryFolder(onTestFinished);
  execFileSync("git", ["clone", "--quiet", "--depth=1", `file://${checkout.folder}`, shallow]);
  const { code, stdout, stderr } = await checkout.run(join(shallow, "scripts/check-expand.ts"), [], { cwd: shallow });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toBe(
    "This clone is shallow, so the last release is not known. Fetch the history: git fetch --unshallow\n",
  );
});
