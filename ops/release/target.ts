import type { Cloudflare } from "./cloudflare.ts";
import { type Configuration, idsOf, readConfiguration, type ResourceIds } from "./configuration.ts";
import type { DeployedEnvironment } from "./options.ts";

/** An environment, and its resources as wrangler.toml names them. */
export interface Target {
  env: DeployedEnvironment;
  configuration: Configuration;
  worker: string;
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
 * Where a Worker is reachable: at its custom domain, at a route without workers.dev, or else on workers.dev.
 *
 * @throws Error when neither is known.
 */
export async function addressOf(
  cloudflare: Cloudflare,
  { name, routes = [], workers_dev }: Pick<Configuration, "name" | "routes"> & { workers_dev?: unknown },
): Promise<URL> {
  const all = routes.map((route) => (typeof route === "string" ? { pattern: route } : route));
  const domain = all.find((route) => "custom_domain" in route && route.custom_domain);
  const route = domain ?? (workers_dev === false ? all.find(({ pattern }) => !/^[^/]*\*/.test(pattern)) : undefined);
  if (route !== undefined)
    return new URL(`https://${route.pattern.replace(/^https?:\/\//, "").replace(/[/*].*$/, "")}`);
  const account = workers_dev === false ? undefined : await cloudflare.get<{ subdomain: string }>("/workers/subdomain");
  if (account !== undefined) return new URL(`https://${name}.${account.subdomain}.workers.dev`);
  throw new Error(
    workers_dev === false
      ? `No route of ${name} has a host without *. Give the address in --url.`
      : "The account has no subdomain of workers.dev. Give the address in --url.",
  );
}
