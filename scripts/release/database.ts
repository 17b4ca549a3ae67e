import type { Terminal } from "../terminal.ts";
import type { Cloudflare } from "./cloudflare.ts";
import type { Target } from "./target.ts";

/** Hints for the place of a database, as wrangler d1 create takes them. "auto" leaves it to Cloudflare, which looks at the caller. */
export const LOCATIONS = ["weur", "eeur", "apac", "oc", "wnam", "enam", "auto"];
export const JURISDICTIONS = ["eu", "fedramp", "us"];

export interface Place {
  location?: string;
  jurisdiction?: string;
}

interface Database {
  uuid: string;
  read_replication?: { mode: string };
}

/**
 * Creates the database unless it is there, and turns its read replication on unless it is on.
 *
 * @throws Error when it is not there and nobody says where it has to be, and when Cloudflare fails.
 */
export async function prepareDatabase(
  cloudflare: Cloudflare,
  name: string,
  place: Place,
  terminal: Terminal,
): Promise<void> {
  let database = await findDatabase(cloudflare, name);
  if (database === undefined) {
    await createDatabase(cloudflare, name, place.location || place.jurisdiction ? place : await askForPlace(terminal));
    database = await findDatabase(cloudflare, name);
    if (database === undefined) throw new Error(`${name} was created, and cannot be found.`);
  } else if (place.location !== undefined || place.jurisdiction !== undefined) {
    terminal.say(`\n${name} exists. It stays where it is.`);
  }
  if (database.read_replication?.mode === "auto") return;
  await cloudflare.put(`/d1/database/${database.uuid}`, { read_replication: { mode: "auto" } });
}

/** The database of this name, as wrangler finds it. */
export function findDatabase(cloudflare: Cloudflare, name: string): Promise<Database | undefined> {
  return cloudflare.get<Database>(`/d1/database/${name}`);
}

export async function createDatabase(cloudflare: Cloudflare, name: string, place: Place): Promise<void> {
  const { location, jurisdiction } = place;
  const args = ["d1", "create", name, "--update-config=false"];
  if (location !== undefined && location !== "auto") args.push(`--location=${location}`);
  if (jurisdiction !== undefined) args.push(`--jurisdiction=${jurisdiction}`);
  await cloudflare.wrangler(args);
}

async function askForPlace(terminal: Terminal): Promise<Place> {
  const once = "There is no database yet, and its place cannot be changed later.";
  if (terminal.ask === undefined) throw new Error(`${once} Say --location or --jurisdiction.`);
  terminal.say(`\n${once}\nLocations: ${LOCATIONS.join(", ")}\nJurisdictions: ${JURISDICTIONS.join(", ")}`);
  const answer = (await terminal.ask("Place of the new database: ")).trim();
  if (LOCATIONS.includes(answer)) return { location: answer };
  if (JURISDICTIONS.includes(answer)) return { jurisdiction: answer };
  throw new Error(`"${answer}" is neither a location nor a jurisdiction. Nothing was created.`);
}

/** The point in the history of the database to which a restore can return. */
export async function readBookmark(cloudflare: Cloudflare, { env, database }: Target): Promise<string> {
  const args = ["d1", "time-travel", "info", database, `--env=${env}`, "--json"];
  const { bookmark } = JSON.parse(await cloudflare.wrangler(args, { quiet: true })) as { bookmark: string };
  return bookmark;
}

/** Lists the migrations that the database does not have. */
export async function listMigrations(cloudflare: Cloudflare, flag: string): Promise<void> {
  await cloudflare.wrangler(["d1", "migrations", "list", "DB", flag, "--remote"]);
}

/**
 * Applies the migrations that the database does not have. Each is applied whole or not at all.
 *
 * @param flag names the environment or the configuration.
 */
export async function migrate(cloudflare: Cloudflare, flag: string): Promise<void> {
  await cloudflare.wrangler(["d1", "migrations", "apply", "DB", flag, "--remote"]);
}
