// npx node scripts/release-notes.ts v1.0.0: prints the notes of a release in CHANGELOG.md. Fails when there are none.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releasesOf } from "./changelog.ts";

const [tag] = process.argv.slice(2);
const changelog = readFileSync(join(import.meta.dirname, "../CHANGELOG.md"), "utf8");
const release = releasesOf(changelog).find(({ version }) => tag === `v${version}`);
if (release === undefined || release.notes === "") {
  console.error(`CHANGELOG.md says nothing about ${tag ?? "a release without a tag"}.`);
  process.exitCode = 1;
} else {
  console.log(release.notes);
}
