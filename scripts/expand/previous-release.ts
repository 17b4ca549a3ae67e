import { readdirSync } from "node:fs";
import { git } from "../git.ts";

/** A commit to compare with. `name` is for people. */
export interface Release {
  name: string;
  commit: string;
}

const FOLDER = "drizzle";

/**
 * The last tagged release before this commit. Without a tag, the commit before the newest migration.
 *
 * @returns undefined when there is neither.
 * @throws Error in a shallow clone, whose history ends too early to know.
 */
export function previousRelease(): Release | undefined {
  if (git("rev-parse", "--is-shallow-repository") === "true") {
    throw new Error(
      "This clone is shallow, so the last release is not known. Fetch the history: git fetch --unshallow",
    );
  }
  const tags = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname", "--format=%(refname:short)");
  for (const tag of tags.split("\n")) {
    const commit = tag === "" ? undefined : git("rev-list", "--max-count=1", tag);
    if (commit !== undefined && commit !== git("rev-parse", "HEAD")) return { name: tag, commit };
  }
  return beforeNewestMigration();
}

/** The migrations here that a commit does not have. */
export function newMigrations(commit: string): string[] {
  const before = git("ls-tree", "--name-only", commit, `${FOLDER}/`).split("\n");
  return migrationsHere().filter((name) => !before.includes(`${FOLDER}/${name}`));
}

function beforeNewestMigration(): Release | undefined {
  const newest = migrationsHere().at(-1);
  if (newest === undefined) return undefined;
  const added = git("log", "--diff-filter=A", "--max-count=1", "--format=%H", "--", `${FOLDER}/${newest}`);
  // Not committed yet: it comes after this commit.
  if (added === "") return { name: "the present commit", commit: git("rev-parse", "HEAD") };
  const [, parent] = git("rev-list", "--parents", "--max-count=1", added).split(" ");
  return parent === undefined ? undefined : { name: `the commit before ${newest}`, commit: parent };
}

function migrationsHere(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
}
