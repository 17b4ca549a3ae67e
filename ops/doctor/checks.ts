import { readdirSync } from "node:fs";
import { join } from "node:path";
import { git } from "../../scripts/git.ts";
import { STOPPED_TABLE } from "../backup/tables.ts";
import type { Cloudflare } from "../release/cloudflare.ts";
import { type Configuration, requireId } from "../release/configuration.ts";
import { findDatabase, query } from "../release/database.ts";
import { describeVersion, inWords, listDeployments, readVersion, resourcesOf } from "../release/deployment.ts";
import { mainVersion } from "../release/history.ts";
import type { TargetOptions } from "../release/options.ts";
import { addressOf, type Target } from "../release/target.ts";
import { TOKEN_SECRET } from "../release/token-secret.ts";
import type { Terminal } from "../terminal.ts";
import { withService } from "../webhooks/service.ts";
import { describeHealth, isIll, readWebhooks } from "../webhooks/state.ts";

// What the doctor looks at. Each check only reads, and throws an Error when it cannot.

export interface Finding {
  isWrong: boolean;
  text: string;
}

interface Patient {
  cloudflare: Cloudflare;
  target: Target;
  options: TargetOptions;
  terminal: Terminal;
}

const HOUR = 3_600_000;
/** Milliseconds. One is made every night. */
const OLDEST_BACKUP = 30 * HOUR;
/** Bytes of a database of D1 (its documentation, Limits), and the share of them after which somebody has to act. */
const LIMIT = 10_000_000_000;
const FULL = 0.8;
/** Milliseconds. */
const CLOCK_DIFFERENCE = 60_000;
const TIMEOUT = 10_000;
const MIGRATIONS = join(import.meta.dirname, "../../drizzle");

const ok = (text: string): Finding => ({ isWrong: false, text });
const wrong = (text: string): Finding => ({ isWrong: true, text });

export const CHECKS: { [name: string]: (patient: Patient) => Promise<Finding> } = {
  async version(patient) {
    const { present, version } = await mainVersionOf(patient);
    const response = await askHealth(patient);
    if (response.status !== 200) return wrong(`GET ${response.url} is ${response.status}.`);
    const { deployment } = (await response.json()) as { deployment?: string };
    if (!present.versions.some(({ version_id }) => version_id === deployment))
      return wrong(`GET ${response.url} is version ${deployment ?? "unknown"}, and ${inWords(present)}.`);
    const shares = present.versions.length > 1 ? `. A gradual release: ${inWords(present)}` : "";
    return ok(`${describeVersion(version)}${shares}`);
  },

  async lease(patient) {
    const columns = 'holder, expires_at - unixepoch() AS "left"';
    const [row] = await rowsOf<{ holder: string; left: number }>(patient, "release_lease", columns);
    return ok(row === undefined || row.left <= 0 ? "free" : `held by ${row.holder}, for ${row.left} s`);
  },

  async migrations(patient) {
    const { version } = await mainVersionOf(patient);
    const restoring = await rowsOf(patient, "restore_progress", "1");
    if (restoring.length > 0) return wrong("A restore has not ended: repeat it.");
    const rows = await rowsOf<{ name: string }>(patient, "d1_migrations", "name");
    const needed = migrationsAt(version.annotations?.["workers/message"]);
    const lacking = needed.filter((file) => !rows.some(({ name }) => name === file));
    return lacking.length > 0 ? wrong(`The database lacks ${lacking.join(", ")}.`) : ok(`${rows.length}, all applied`);
  },

  async bindings(patient) {
    const { target } = patient;
    const { version } = await mainVersionOf(patient);
    const bound = resourcesOf(version);
    for (const resource of ["database", "namespace"] as const) {
      const id = requireId(target.env, resource);
      if (bound[resource] !== id)
        return wrong(`The ${resource} is ${bound[resource] ?? "not bound"}, and wrangler.toml has ${id}.`);
    }
    const all = version.resources?.bindings ?? [];
    const lacking = bindingsOf(target.configuration).filter((name) => !all.some((binding) => binding.name === name));
    if (lacking.length > 0) return wrong(`The deployed version lacks ${lacking.join(", ")}.`);
    const values = new Map(all.map(({ name, text }) => [name, text]));
    const differing = Object.entries(target.configuration.vars ?? {}).filter(
      ([name, value]) => values.get(name) !== undefined && values.get(name) !== value,
    );
    const names = differing.map(
      ([name, value]) => `${name} is ${values.get(name)}, and ${String(value)} in wrangler.toml`,
    );
    return ok(names.length === 0 ? "as wrangler.toml has them" : `${names.join("; ")}: not released`);
  },

  async database({ cloudflare, target }) {
    const id = requireId(target.env, "database");
    const database = await findDatabase(cloudflare, id);
    if (database === undefined) return wrong(`There is no database ${id}.`);
    const { name, file_size: size = 0 } = database;
    const text = `${name} has ${(size / 1e9).toFixed(2)} GB of 10`;
    return size > FULL * LIMIT ? wrong(text) : ok(text);
  },

  async backup(patient) {
    const columns = "moment, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS now";
    const [row] = await rowsOf<{ moment: string; now: string }>(patient, "last_backup", columns);
    // Only production has one every night.
    const find = patient.target.env === "production" ? wrong : ok;
    if (row === undefined) return find("There is none.");
    const age = Date.parse(row.now) - Date.parse(row.moment);
    const text = `The last one is of ${row.moment}, ${Math.round(age / HOUR)} hours ago`;
    return age > OLDEST_BACKUP ? find(text) : ok(text);
  },

  async webhooks(patient) {
    const { cloudflare, target, options, terminal } = patient;
    const scopes = ["webhooks:manage"] as const;
    const all = await withService(cloudflare, target, { ...options, scopes }, terminal, readWebhooks);
    const ill = all.filter(isIll).map((one) => `${one.id} of ${one.createdBy}: ${describeHealth(one)}`);
    if (ill.length > 0) return wrong(ill.join("; "));
    const stopped = await rowsOf(patient, STOPPED_TABLE, "id");
    return ok(`${all.length}, none fails${stopped.length > 0 ? `, ${stopped.length} stopped by an operator` : ""}`);
  },

  async search(patient) {
    const columns = `ready, filled_to, (SELECT max(id) FROM pets) AS last, (SELECT max(id) FROM events) - place AS waiting,
      place >= (SELECT min(id) FROM events) AS isWhole`;
    interface Index {
      ready: number;
      filled_to: number;
      last: number | null;
      waiting: number;
      isWhole: number;
    }
    const [row] = await rowsOf<Index>(patient, "search_index", columns);
    if (row === undefined) return ok("This version has no index");
    const { ready, filled_to, last, waiting, isWhole } = row;
    if (!isWhole) return ok("The hourly job will fill the index anew");
    if (!ready) return ok(`The index is filled up to animal ${filled_to} of ${last ?? 0}`);
    return ok(`The index has every animal, but for ${waiting} events`);
  },

  async clock(patient) {
    const { headers } = await askHealth(patient);
    const difference = Date.now() - Date.parse(headers.get("Date") ?? "");
    const text = `${Math.round(Math.abs(difference) / 1_000)} s from Cloudflare's`;
    return Math.abs(difference) <= CLOCK_DIFFERENCE ? ok(text) : wrong(text);
  },

  async token({ cloudflare, target }) {
    await cloudflare.get(`/workers/scripts/${target.worker}/deployments`);
    await query(cloudflare, requireId(target.env, "database"), "SELECT 1");
    await cloudflare.listByCursor(`/storage/kv/namespaces/${requireId(target.env, "namespace")}/keys?prefix=key%3A`);
    return ok("It may read the Worker and KV, and ask the database");
  },
};

async function askHealth({ cloudflare, target, options: { url } }: Patient): Promise<Response> {
  const address = url ?? (await addressOf(cloudflare, target.configuration));
  return fetch(new URL("/health", address), { signal: AbortSignal.timeout(TIMEOUT) });
}

async function mainVersionOf({ cloudflare, target: { worker } }: Patient) {
  const [present] = await listDeployments(cloudflare, worker);
  if (present === undefined) throw new Error(`${worker} is not deployed.`);
  return { present, version: await readVersion(cloudflare, worker, mainVersion(present.versions)) };
}

/** The names of what wrangler.toml binds beside the database, the namespace and the variables. */
function bindingsOf({ ratelimits, durable_objects, version_metadata, assets }: Configuration): string[] {
  const named = [...(ratelimits ?? []), ...(durable_objects?.bindings ?? [])].map(({ name }) => name);
  return [...named, version_metadata?.binding, assets?.binding, TOKEN_SECRET].filter((name) => name !== undefined);
}

/** The rows of a table that may not be there. */
async function rowsOf<Row>({ cloudflare, target }: Patient, table: string, columns: string): Promise<Row[]> {
  const id = requireId(target.env, "database");
  const found = await query(cloudflare, id, `SELECT 1 FROM sqlite_schema WHERE name = '${table}'`);
  return found.length === 0 ? [] : query<Row>(cloudflare, id, `SELECT ${columns} FROM ${table}`);
}

/** The migrations of a commit, or those here when git does not have it. */
function migrationsAt(commit: string | undefined): string[] {
  try {
    return git("ls-tree", "--name-only", `${commit}:drizzle`)
      .split("\n")
      .filter((file) => file.endsWith(".sql"));
  } catch {
    return readdirSync(MIGRATIONS).filter((file) => file.endsWith(".sql"));
  }
}
