import type { Terminal } from "../terminal.ts";
import type { Cloudflare } from "./cloudflare.ts";
import { linesOf, type Resource, withId, writeId } from "./configuration.ts";
import { createDatabase, type Database, JURISDICTIONS, LOCATIONS, type Place } from "./database.ts";
import { createNamespace, namespaceTitle } from "./namespace.ts";
import type { Survey } from "./survey.ts";
import type { Target } from "./target.ts";

// The database and the KV namespace of an environment. wrangler.toml names both by their ids. The first release creates them.

const WORDS: { [resource in Resource]: string } = { database: "database", namespace: "KV namespace" };
const PATHS: { [resource in Resource]: string } = { database: "/d1/database", namespace: "/storage/kv/namespaces" };

export interface ResourceOptions extends Place {
  /** Releases with another database than the one that the Worker uses, and creates it unless wrangler.toml has its id. */
  newDatabase?: true;
  /** The same for the KV namespace, which holds all API keys. */
  newNamespace?: true;
}

const isNew = (resource: Resource, { newDatabase, newNamespace }: ResourceOptions) =>
  (resource === "database" ? newDatabase : newNamespace) === true;

/**
 * Refuses a release with other resources than those that the deployed version uses.
 *
 * @throws Error also when a pipeline would have to create them: nobody would commit their ids.
 */
export function refuseOtherResources(
  { env, worker, ids }: Target,
  { bound, deployments }: Survey,
  options: ResourceOptions,
  terminal: Terminal,
): void {
  const resources = (["database", "namespace"] as const).filter((resource) => !isNew(resource, options));
  const lacking = resources.filter((resource) => ids[resource] === undefined);
  if (lacking.length > 0 && deployments.length > 0) {
    terminal.say(lacking.map((resource) => linesOf(env, resource, bound[resource] ?? "...")).join("\n"));
    throw new Error(
      `${worker} is deployed with these resources, and wrangler.toml does not name them. ` +
        "Add their ids there as above, commit them, and start again.",
    );
  }
  if (lacking.length > 0 && process.env["CI"])
    throw new Error(
      `wrangler.toml does not name the resources of ${env}. Its first release creates them, and a person runs it: docs/releases.md.`,
    );
  for (const resource of resources) {
    if (bound[resource] === undefined || bound[resource] === ids[resource]) continue;
    throw new Error(
      `${worker} uses the ${WORDS[resource]} ${bound[resource]}, and wrangler.toml names ${ids[resource]}. ` +
        `docs/runbook/deleted.md has the choice. To release with that one, say --new-${resource}.`,
    );
  }
}

/**
 * Refuses a Worker that is not deployed yet when another one uses its resources: `name` in wrangler.toml was changed. The release would make
 * a second Worker on the same data, with another cron trigger and another secret of customer tokens.
 */
export async function refuseRenamed(
  cloudflare: Cloudflare,
  { worker, ids }: Target,
  { deployments }: Survey,
): Promise<void> {
  const own = Object.values(ids).filter((id) => id !== undefined);
  if (deployments.length > 0 || own.length === 0) return;
  for (const { id: other } of (await cloudflare.get<{ id: string }[]>("/workers/scripts")) ?? []) {
    const settings = await cloudflare.get<{ bindings?: object[] }>(`/workers/scripts/${other}/settings`);
    const used = (settings?.bindings ?? []).flatMap((binding) => Object.values(binding)).find((id) => own.includes(id));
    if (used === undefined) continue;
    throw new Error(
      `The Worker ${other} uses ${used}, which wrangler.toml names for ${worker}. Two Workers may not share the data. ` +
        `Give the environment the name ${other} again, or delete that Worker first.`,
    );
  }
}

/**
 * Looks for a resource of wrangler.toml.
 *
 * @returns undefined when one has to be created.
 * @throws Error when it is gone.
 */
export async function findOwn<Found>(
  cloudflare: Cloudflare,
  { ids }: Target,
  resource: Resource,
  options: ResourceOptions,
): Promise<Found | undefined> {
  const id = ids[resource];
  if (id === undefined) return undefined;
  const found = await cloudflare.get<Found>(`${PATHS[resource]}/${id}`);
  if (found !== undefined || isNew(resource, options)) return found;
  throw new Error(
    `The ${WORDS[resource]} ${id}, which wrangler.toml names, does not exist. docs/runbook/deleted.md has the choice. ` +
      `To release with a new, empty one, say --new-${resource}.`,
  );
}

/** Looks for the database. @throws Error also when it has another name, and when nobody says where a new one has to be. */
export async function findOwnDatabase(
  cloudflare: Cloudflare,
  target: Target,
  options: ResourceOptions,
): Promise<Database | undefined> {
  const { env, database: name, ids } = target;
  const found = await findOwn<Database>(cloudflare, target, "database", options);
  if (found !== undefined && found.name !== name)
    throw new Error(
      `wrangler.toml calls the database ${ids.database} of ${env} ${name}, and its name is ${found.name}.`,
    );
  if (found !== undefined || options.location !== undefined || options.jurisdiction !== undefined) return found;
  throw new Error(
    "There is no database yet, and its place cannot be changed later. " +
      `Say --location (${LOCATIONS.join(", ")}) or --jurisdiction (${JURISDICTIONS.join(", ")}).`,
  );
}

/** Creates the database unless it is there, writes its id to wrangler.toml, and turns its read replication on unless it is on. */
export async function prepareDatabase(
  cloudflare: Cloudflare,
  target: Target,
  options: ResourceOptions,
  terminal: Terminal,
): Promise<Database> {
  let database = await findOwnDatabase(cloudflare, target, options);
  if (database === undefined) {
    // Fails now if the file cannot have the id.
    withId(target.env, "database", "");
    database = await createDatabase(cloudflare, target.database, options);
    record(target, "database", database.uuid, terminal);
  }
  if (database.read_replication?.mode !== "auto") {
    const body = { read_replication: { mode: "auto" } };
    await cloudflare.change({ method: "PUT", path: `/d1/database/${database.uuid}`, body });
  }
  return database;
}

/** Creates the namespace unless it is there, and writes its id to wrangler.toml. */
export async function prepareNamespace(
  cloudflare: Cloudflare,
  target: Target,
  database: Database,
  options: ResourceOptions,
  terminal: Terminal,
): Promise<void> {
  if ((await findOwn(cloudflare, target, "namespace", options)) !== undefined) return;
  withId(target.env, "namespace", "");
  // The records of the keys have the names of their owners, so they stay under the law of the database.
  const jurisdiction = database.jurisdiction ?? undefined;
  const { id } = await createNamespace(cloudflare, namespaceTitle(target.worker), jurisdiction);
  record(target, "namespace", id, terminal);
}

function record({ env }: Target, resource: Resource, id: string, terminal: Terminal): void {
  writeId(env, resource, id);
  terminal.say(`wrangler.toml has the id ${id} of the ${WORDS[resource]} now. Commit it.`);
}
