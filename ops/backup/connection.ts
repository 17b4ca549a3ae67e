import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environment } from "../../src/auth/key-format.ts";
import { openLocalBindings } from "../../scripts/local-bindings.ts";
import type { Cloudflare } from "../release/cloudflare.ts";
import { requireId } from "../release/configuration.ts";
import { findDatabase, type Place, run } from "../release/database.ts";
import { type Lease, takeLease } from "../release/lease.ts";
import { prepareDatabase } from "../release/resources.ts";
import { readTarget } from "../release/target.ts";
import type { DeployedEnvironment } from "../release/options.ts";
import type { Terminal } from "../terminal.ts";

const LOCAL_RETRIES = 20;
/** Milliseconds. */
const LOCAL_PAUSE = 20;

export type Row = Record<string, string | number | null>;

/** The database of an environment. Its methods throw an Error when it cannot be reached, and may repeat what they send. */
export interface Database {
  name: string;
  /** Runs statements in one transaction, and returns the rows of each. Integers above 2^53 are rounded: read them as text. */
  run(statements: readonly string[]): Promise<Row[][]>;
  /** Runs one statement with one parameter, a text of up to 2 MB. */
  load(statement: string, parameter: string): Promise<void>;
  /** Keeps releases and other restores away, where there are any. A rollback may take the lease. */
  takeLease?(command: string): Promise<Lease>;
  close(): Promise<void>;
}

/**
 * @param persistTo the folder of the local state: that of `npm run dev` when undefined.
 * @param place where to create a database at Cloudflare instead of the one that wrangler.toml names, if that is gone.
 * @param connect gives the account of a database that is not local.
 * @throws Error when there is no such database.
 */
export async function openDatabase(
  env: Environment,
  persistTo: string | undefined,
  connect: () => Promise<Cloudflare>,
  terminal: Terminal,
  place?: Place,
) {
  return env === "local" ? openLocal(persistTo) : openRemote(env, await connect(), terminal, place);
}

async function openLocal(persistTo?: string): Promise<Database> {
  const { env, dispose } = await openLocalBindings(persistTo);
  const { DB } = env;
  return {
    name: "petstore-local",
    async run(statements) {
      const results = await retryLocked(() => DB.batch<Row>(statements.map((statement) => DB.prepare(statement))));
      return results.map(({ results: rows }) => rows);
    },
    load: async (statement, parameter) => void (await DB.prepare(statement).bind(parameter).run()),
    close: dispose,
  };
}

/** Repeats what fails because npm run dev writes to the same storage in this moment. */
async function retryLocked<Result>(attempt: () => Promise<Result>, retries = LOCAL_RETRIES): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (retries === 0 || !/internal error|SQLITE_BUSY/.test(String(error))) throw error;
    await sleep(LOCAL_PAUSE);
    return retryLocked(attempt, retries - 1);
  }
}

/** A database of this process. Each statement is a transaction, unless one of them begins one. */
export const databaseOf = (sqlite: DatabaseSync, name: string): Database => ({
  name,
  run: async (statements) => statements.map((statement) => sqlite.prepare(statement).all() as Row[]),
  load: async (statement, parameter) => void sqlite.prepare(statement).run(parameter),
  close: async () => sqlite.close(),
});

async function openRemote(
  env: DeployedEnvironment,
  cloudflare: Cloudflare,
  terminal: Terminal,
  place?: Place,
): Promise<Database> {
  const target = readTarget(env);
  const id = requireId(env, "database");
  const database = place
    ? await prepareDatabase(cloudflare, target, { ...place, newDatabase: true }, terminal)
    : await findDatabase(cloudflare, id);
  if (database === undefined) throw new Error(`There is no database ${id}, which wrangler.toml names.`);
  const { name, uuid } = database;
  return {
    name,
    run: (statements) => run(cloudflare, uuid, statements.join(";\n")),
    load: async (statement, parameter) => void (await run(cloudflare, uuid, statement, [parameter])),
    takeLease: (command) => takeLease(cloudflare, database, { worker: target.worker, command, yields: true }, terminal),
    close: async () => {},
  };
}
