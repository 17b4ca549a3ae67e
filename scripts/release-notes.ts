// npx node scripts/release-notes.ts v1.0.0: prints the notes of a release in CHANGELOG.md. Fails when there are none.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A heading such as `## [1.0.0] - 2026-11-21`, and all lines up to the next one of its level. */
const RELEASE = /^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}\n((?:(?!## ).*\n?)*)/gm;

/** The releases of a changelog in the form of Keep a Changelog, newest first, without `Unreleased`. The notes have no heading. */
export function releasesOf(changelog: string): { version: string; notes: string }[] {
  return [...changelog.matchAll(RELEASE)].map(([, version = "", notes = ""]) => ({ version, notes: notes.trim() }));
}

if (import.meta.main) {
  const [tag] = process.argv.slice(2);
  const changelog = readFileSync(join(import.meta.dirname, "../CHANGELOG.md"), "utf8");
  const notes = releasesOf(changelog).find(({ version }) => tag === `v${version}`)?.notes;
  if (notes) {
    console.log(notes);
  } else {
    console.error(`CHANGELOG.md says nothing about ${tag ?? "a release without a tag"}.`);
    process.exitCode = 1;
  }
}
