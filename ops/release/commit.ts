import { readFileSync } from "node:fs";
import { git } from "../../scripts/git.ts";
import { ID_LINE } from "./configuration.ts";
import type { DeployedEnvironment } from "./options.ts";

/** A commit as the message of a version tells it. */
const COMMIT = /^[0-9a-f]{7,40}$/;

/** The code that is released. */
export interface Revision {
  /** Of package.json. */
  version: string;
  /** All 40 digits. */
  commit: string;
}

/**
 * The commit that is checked out, when it may be released.
 *
 * @throws Error when files differ from the commit, when it is another commit, and when production would get one without a tag.
 */
export function checkRevision(options: { env: DeployedEnvironment; commit?: string; untagged?: true }): Revision {
  if (git("status", "--porcelain", "--", ":/", ":(exclude)wrangler.toml") !== "" || !changedLines().every(isId)) {
    throw new Error("There are files that are not committed (git status). Only a commit can be released.");
  }
  const commit = git("rev-parse", "HEAD");
  if (options.commit !== undefined && !commit.startsWith(options.commit)) {
    throw new Error(`Commit ${commit} is checked out, not ${options.commit}.`);
  }
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const tags = git("tag", "--points-at", "HEAD").split("\n");
  if (options.env === "production" && options.untagged !== true && !tags.includes(`v${version}`)) {
    throw new Error(`Production gets tagged commits, and this one has no tag v${version}. Tag it, or say --untagged.`);
  }
  return { version, commit };
}

/** Whether wrangler.toml has ids that are not committed. */
export function hasNewIds(): boolean {
  return changedLines().some(isId);
}

/** The lines of wrangler.toml that were added and removed since the commit. */
function changedLines(): string[] {
  const diff = git("diff", "HEAD", "--unified=0", "--no-color", "--no-ext-diff", "--", "wrangler.toml");
  return diff.split("\n").filter((line) => /^[+-](?![+-]{2} )/.test(line));
}

/** A release writes the ids that it creates. They do not make the code another one. */
const isId = (line: string) => ID_LINE.test(line.slice(1));

/**
 * Refuses a commit that does not descend from the one that is deployed: it would take back what others released.
 *
 * @param deployed what the deployed version says about its commit. Undefined when it says nothing.
 */
export function refuseOlder(revision: Revision, version: string, deployed: string | undefined): void {
  const force = "To release all the same, say --force.";
  if (deployed === undefined || !COMMIT.test(deployed)) {
    throw new Error(`Version ${version} is deployed, and does not tell its commit. ${force}`);
  }
  try {
    git("rev-parse", "--verify", "--quiet", `${deployed}^{commit}`);
  } catch {
    throw new Error(`Commit ${deployed} is deployed, and this clone does not have it. Fetch it first. ${force}`);
  }
  try {
    git("merge-base", "--is-ancestor", deployed, revision.commit);
  } catch {
    const commit = revision.commit.slice(0, 12);
    throw new Error(`Commit ${deployed} is deployed, and ${commit} does not descend from it. ${force}`);
  }
}

/**
 * Whether a commit has other migrations than the ones that are deployed.
 *
 * @param deployed what each deployed version says about its commit.
 * @returns undefined when git cannot tell.
 */
export function bringsMigration(revision: Revision, deployed: readonly (string | undefined)[]): boolean | undefined {
  if (!deployed.every((commit) => commit !== undefined && COMMIT.test(commit))) return undefined;
  try {
    return deployed.some(
      (commit) => git("diff", "--name-only", commit ?? "", revision.commit, "--", ":/drizzle/*.sql") !== "",
    );
  } catch {
    return undefined;
  }
}
