import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { document } from "../../openapi/document.ts";
import released from "../../openapi/released.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import { releasesOf } from "../../scripts/release-notes.ts";

const CHANGELOG = readFileSync("CHANGELOG.md", "utf8");

test("package.json, the OpenAPI documents and the newest release of the changelog have one version", () => {
  expect(releasesOf(CHANGELOG)[0]?.version).toBe(packageJson.version);
  expect(document.info.version).toBe(packageJson.version);
  expect(released.info.version).toBe(packageJson.version);
});

test("the changelog has a section for the next release above all others", () => {
  expect(CHANGELOG.match(/^## .*$/m)?.[0]).toBe("## [Unreleased]");
});

test("the notes of a release end where the previous release begins", () => {
  const text =
    "# Changelog\n\n## [Unreleased]\n\n- a\n\n## [1.1.0] - 2026-12-01\n\n### Added\n\n- b\n\n## [1.0.0] - 2026-11-21\n\n- c\n";
  expect(releasesOf(text)).toEqual([
    { version: "1.1.0", notes: "### Added\n\n- b" },
    { version: "1.0.0", notes: "- c" },
  ]);
});

function printNotes(tag: string) {
  return spawnSync(process.execPath, ["scripts/release-notes.ts", tag], { encoding: "utf8" });
}

test("only the notes of a tag are printed", () => {
  const { status, stdout } = printNotes(`v${packageJson.version}`);
  expect(stdout).toBe(`${releasesOf(CHANGELOG)[0]?.notes}\n`);
  expect(stdout).toContain("### ");
  expect(status).toBe(0);
});

test.each(["v0.0.1", "1.0.0", ""])("the tag %j has no notes", (tag) => {
  const { status, stdout, stderr } = printNotes(tag);
  expect(stdout).toBe("");
  expect(stderr).toContain("says nothing");
  expect(status).toBe(1);
});
