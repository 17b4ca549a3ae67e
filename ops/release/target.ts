import type { Cloudflare } from "./cloudflare.ts";
import { type Configuration, idsOf, readConfiguration, type ResourceIds } from "./configuration.ts";
import type { DeployedEnvironment } from "./options.ts";

/** An environment, and its resources as wrangler.toml names them. */
export interface Target {
  env: DeployedEnvironment;
  configuration: Configuration;
  worker: string;
  /** The name of the database. */
  database: string;
  ids: ResourceIds;
}

/** @throws Error when wrangler.toml does not name them all. */
export function readTarget(env: DeployedEnvironment): Target {
  const configuration = readConfiguration(env);
  const database = configuration.d1_databases[0]?.database_name;
  if (database === undefined) throw new Error(`wrangler.toml names no database in env.${env}.`);
  if (configuration.kv_namespaces.length === 0) throw new Error(`wrangler.toml names no KV namespace in env.${env}.`);
  return { env, configuration, worker: configuration.name, database, ids: idsOf(configuration) };
}

/**
 * Where a Worker is reachable: at its custom domain, or else on workers.dev.
 *
 * @throws Error when the account has no subdomain of workers.dev.
 */
export async function addressOf(
  cloudflare: Cloudflare,
  { name, routes }: Pick<Configuration, "name" | "routes">,
): Promise<URL> {
  const domain = routes?.find((route) => typeof route === "object" && route.custom_domain === true);
  if (typeof domain === "object") return new URL(`https://${domain.pattern}`);
  const account = await cloudflare.get<{ subdomain: string }>("/workers/subdomain");
  if (account === undefined) throw new Error("The account has no subdomain of workers.dev. Give the address in --url.");
  return new URL(`https://${name}.${account.subdomain}.workers.dev`);
}
