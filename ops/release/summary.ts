import type { Terminal } from "../terminal.ts";
import type { Target } from "./target.ts";

/** The result of a release. */
export interface Outcome {
  target: Target;
  version: string;
  address: URL;
  /** The point in the history of the database before the migrations. Undefined when D1 did not answer. */
  bookmark: string | undefined;
  /** The version that had most requests before. Undefined for the first release. */
  previous: string | undefined;
  isDatabaseGone: boolean;
  /** The migration of Durable Objects that it brought to a Worker that was there, by its tag. */
  migration: string | undefined;
  /** Whether it made a secret for customer tokens, which earlier versions lack. */
  hasNewSecret: boolean;
}

/** What a release with a migration of Durable Objects means for its operator. */
export function oneWay(migration: string): string {
  return (
    `It brings the migration ${migration} of Durable Objects, so it gives the new version all requests at once. ` +
    "Afterwards, Cloudflare refuses to roll back to a version from before."
  );
}

/** @param percentage of the requests, for a gradual release. */
export function showOutcome(outcome: Outcome, percentage: number | undefined, terminal: Terminal): void {
  const { target, version, address, bookmark = "unknown: D1 did not answer" } = outcome;
  if (percentage !== undefined) {
    return terminal.print(`
Version ${version} gets ${percentage} % of the requests of ${target.env}
  Address         ${address.origin}
  Bookmark        ${bookmark}
  Go on           npm run release -- --env ${target.env} --promote ${version}
  Go back         ${codeRollback(outcome)}`);
  }
  const moment = outcome.bookmark === undefined ? "--timestamp <time>" : `--bookmark ${bookmark}`;
  terminal.print(`
Released to ${target.env}
  Version         ${version}
  Address         ${address.origin}
  Bookmark        ${bookmark}
  Roll back code  ${codeRollback(outcome)}
  Restore data    Read docs/releases.md first: a restore loses everything that was written since.
                  Without a terminal, this command does not ask:
                  npx wrangler d1 time-travel restore ${target.database} --env ${target.env} ${moment}`);
}

export function codeRollback(outcome: Omit<Outcome, "version">): string {
  const { target, previous, isDatabaseGone, migration, hasNewSecret } = outcome;
  if (previous === undefined) return "none: this is the first version";
  if (migration !== undefined) return `none: Cloudflare refuses a version without the migration ${migration}`;
  if (isDatabaseGone) return "none: earlier versions use another database, which is gone";
  return `npm run rollback -- --env ${target.env} --to ${previous}${hasNewSecret ? " --other-token-secret" : ""}`;
}
