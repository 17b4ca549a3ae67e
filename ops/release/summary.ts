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
  /** Whether earlier versions use a database that is gone. */
  isDatabaseGone: boolean;
  /** The migration of Durable Objects that it brought to a Worker that was there, by its tag. */
  migration: string | undefined;
}

/** What a release with a migration of Durable Objects means for its operator. */
export function oneWay(migration: string): string {
  return (
    `It brings the migration ${migration} of Durable Objects, so it gives the new version all requests at once. ` +
    "Afterwards, Cloudflare refuses to roll back to a version from before."
  );
}

export function showRelease(outcome: Outcome, terminal: Terminal): void {
  terminal.print(`
Released to ${outcome.target.env}
  Version         ${outcome.version}
  Address         ${outcome.address.origin}
  Bookmark        ${bookmarkOf(outcome)}
  Roll back code  ${codeRollback(outcome)}
  Restore data    Read docs/releases.md first: a restore loses everything that was written since.
                  Without a terminal, this command does not ask:
                  ${dataRestore(outcome)}`);
}

export function showGradual(outcome: Outcome, percentage: number, terminal: Terminal): void {
  const { target, version } = outcome;
  terminal.print(`
Version ${version} gets ${percentage} % of the requests of ${target.env}
  Address         ${outcome.address.origin}
  Bookmark        ${bookmarkOf(outcome)}
  Go on           npm run release -- --env ${target.env} --promote ${version}
  Go back         ${codeRollback(outcome)}`);
}

export function codeRollback({ target, previous, isDatabaseGone, migration }: Omit<Outcome, "version">): string {
  if (previous === undefined) return "none: this is the first version";
  if (migration !== undefined) return `none: Cloudflare refuses a version without the migration ${migration}`;
  if (isDatabaseGone) return "none: earlier versions use another database, which is gone";
  return `npm run rollback -- --env ${target.env} --to ${previous}`;
}

function bookmarkOf({ bookmark }: Outcome): string {
  return bookmark ?? "unknown: D1 did not answer";
}

function dataRestore({ target, bookmark }: Outcome): string {
  const moment = bookmark === undefined ? "--timestamp <time>" : `--bookmark ${bookmark}`;
  return `npx wrangler d1 time-travel restore ${target.database} --env ${target.env} ${moment}`;
}
