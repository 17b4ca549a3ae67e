import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import type { Cloudflare } from "./cloudflare.ts";
import { type Database, query } from "./database.ts";
import { inWords, listDeployments } from "./deployment.ts";

// Who may change the deployment of an environment: one command at a time. The lease is a row in the environment's database, because every
// command sees it there, and because the database takes one of two writers for certain. The clock is that of the database.

/** Seconds after which the lease of a command that ended without a word is free. */
export const LEASE_SECONDS = 120;
/** Seconds between two renewals. */
const RENEWAL = 30;
/** Seconds between two looks at the lease of somebody else, and for which a command waits for it in all. */
const LOOK = 2;
const PATIENCE = 1_200;

/** Not a migration: a release needs it before the first one, and on the schema of every version. */
const CREATE = `CREATE TABLE IF NOT EXISTS release_lease (
  id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL, holder TEXT NOT NULL, yields INTEGER NOT NULL, expires_at INTEGER NOT NULL)`;
/** Takes the lease when it is free, when it is ours, and when its holder yields to a command that does not. */
const take = (token: string, holder: string, yields: boolean) => `${CREATE};
  INSERT INTO release_lease (id, token, holder, yields, expires_at)
    VALUES (1, ${text(token)}, ${text(holder)}, ${Number(yields)}, unixepoch() + ${LEASE_SECONDS})
  ON CONFLICT (id) DO UPDATE SET
    token = excluded.token, holder = excluded.holder, yields = excluded.yields, expires_at = excluded.expires_at
  WHERE token = excluded.token OR expires_at <= unixepoch() OR yields > excluded.yields;
  SELECT token, holder, expires_at FROM release_lease`;
const renew = (token: string) =>
  `UPDATE release_lease SET expires_at = unixepoch() + ${LEASE_SECONDS} WHERE token = ${text(token)} AND expires_at > 0;
  SELECT token, holder FROM release_lease`;
/** The row stays, so that a command that lost the lease can name the one that took it. */
const free = (token: string) => `UPDATE release_lease SET expires_at = 0 WHERE token = ${text(token)}`;

interface LeaseRow {
  token: string;
  holder: string;
  /** Seconds since 1970. */
  expires_at: number;
}

/** Another command took the right away. Its message is that of a command that changes nothing but the deployment. */
export class LeaseLost extends Error {
  /** Who took it, and what is deployed: the rest of a sentence, and another one. */
  readonly reason: string;

  constructor(reason: string) {
    super(`This stopped before it deployed anything, ${reason} If this change is still right, run the command again.`);
    this.reason = reason;
  }
}

/** The right to change the deployment, which a rollback may take away from a command that yields. */
export interface Lease {
  /** @throws LeaseLost when another command took the right away, and another Error when the database cannot say. */
  confirm(): Promise<void>;
  /** Gives the right back. Never throws: it expires as well. */
  free(): Promise<void>;
}

/**
 * Waits until nobody else changes the deployment of the environment.
 *
 * @param worker whose deployment it is.
 * @param command what is done, for the others.
 * @param yields whether a command that does not yield may take the lease away: a rollback does not wait for a release.
 * @throws Error that names the holder, when it does not finish.
 */
export async function takeLease(
  cloudflare: Cloudflare,
  database: Database,
  { worker, command, yields }: { worker: string; command: string; yields: boolean },
  terminal: Terminal,
): Promise<Lease> {
  const token = randomUUID();
  const holder = `${command} by ${somebody()}, since ${new Date().toISOString()}`;
  const run = (sql: string) => query<LeaseRow>(cloudflare, database.uuid, sql);
  const end = Date.now() + PATIENCE * 1_000;
  let named = "";
  for (;;) {
    const [present] = await run(take(token, holder, yields));
    if (present?.token === token) break;
    const other = present?.holder ?? "somebody";
    if (Date.now() > end) throw new Error(`Nothing was changed: ${other} has not finished. Try again later.`);
    if (other !== named) {
      const until = new Date((present?.expires_at ?? 0) * 1_000).toISOString();
      const advice = `This goes on by itself when that has ended. If it was killed, its lease lasts until ${until}.`;
      terminal.say(`\nThis waits for ${other}.\n${advice}`);
    }
    named = other;
    await sleep(LOOK * 1_000);
  }
  const confirm = async (): Promise<void> => {
    const [present] = await run(renew(token));
    if (present?.token === token) return;
    const deployed = await listDeployments(cloudflare, worker).then(([first]) => inWords(first), oneLine);
    throw new LeaseLost(`because of ${present?.holder ?? "another command"}. Deployed now: ${deployed}.`);
  };
  // A renewal that fails is followed by another one, and by the check before each change.
  const renewal = setInterval(() => void run(renew(token)).catch(() => {}), RENEWAL * 1_000);
  renewal.unref();
  return {
    confirm,
    async free() {
      clearInterval(renewal);
      await run(free(token)).catch((error: unknown) => {
        terminal.say(`The lease of this command stays for up to ${LEASE_SECONDS} seconds: ${oneLine(error)}`);
      });
    },
  };
}

/** Where a command runs: for people who want to know whom they wait for. */
function somebody(): string {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID } = process.env;
  if (GITHUB_RUN_ID) return `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`;
  return `${userInfo().username} on ${hostname()} (process ${process.pid})`;
}

/** A literal of SQL. */
function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
