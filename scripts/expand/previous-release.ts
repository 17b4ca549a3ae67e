import { readdirSync } from "node:fs";
import { git } from "../git.ts";

/** A commit to compare with. `name` is for people. */
interface Release {
  name: string;
  commit: string;
}

/** A release copies its document to this file. */
const RELEASED = "openapi/released.json";

/**
 * The last tagged release before this commit. Without a tag, the last commit before this one that changed the released document.
 *
 * @returns undefined when there is neither.
 * @throws Error in a shallow clone, whose history is incomplete.
 */
export function previousRelease(): Release | undefined {
  if (git("rev-parse", "--is-shallow-repository") === "true") {
    throw new Error(
      "This clone is shallow, so the last release is not known. Fetch the history: git fetch --unshallow",
    );
  }
  const tags = git("tag", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-version:refname", "v*");
  const [tag = ""] = tags.split("\n");
  if (tag !== "") return { name: tag, commit: git("rev-list", "--max-count=1", tag) };
  const head = git("rev-parse", "HEAD");
  const changes = git("rev-list", "HEAD", "--", RELEASED).split("\n");
  const commit = changes.find((one) => one !== "" && one !== head);
  return commit === undefined ? undefined : { name: `the last commit that changed ${RELEASED}`, commit };
}

export function newMigrations(commit: string): string[] {
  const before = git("ls-tree", "--name-only", commit, "drizzle/").split("\n");
  const here = readdirSync("drizzle").filter((name) => name.endsWith(".sql"));
  return here.toSorted().filter((name) => !before.includes(`drizzle/${name}`));
}
