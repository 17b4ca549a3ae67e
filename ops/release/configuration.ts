import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parse } from "smol-toml";

const PROJECT = resolve(import.meta.dirname, "../..");
const FILE = join(PROJECT, "wrangler.toml");

/** Where wrangler.toml names each resource of an environment by its id. */
const RESOURCES = {
  database: { table: "d1_databases", binding: "DB", key: "database_id" },
  namespace: { table: "kv_namespaces", binding: "API_KEYS", key: "id" },
} as const;
export type Resource = keyof typeof RESOURCES;
/** The ids of the D1 database and of the KV namespace of an environment, as far as they are known. */
export type ResourceIds = { [resource in Resource]: string | undefined };
/** A line of wrangler.toml with one of them. */
export const ID_LINE = /^(?:database_id|id) = "[0-9a-f-]{32,36}"$/;

/** What an environment does not inherit from the top level of wrangler.toml: its bindings and variables. */
const OWN = ["vars", "d1_databases", "kv_namespaces", "ratelimits", "durable_objects", "version_metadata"];

/** What we read and change of a configuration. The rest is passed on as it is. */
export interface Configuration {
  name: string;
  main: string;
  alias?: Record<string, string>;
  build?: { command?: string; cwd?: string };
  assets?: { directory?: string; binding?: string };
  ratelimits?: { name: string; namespace_id: string }[];
  version_metadata?: { binding: string };
  routes?: (string | { pattern: string; custom_domain?: boolean })[];
  vars?: Record<string, unknown>;
  d1_databases: { binding: string; database_name: string; database_id?: string; migrations_dir?: string }[];
  kv_namespaces: { binding: string; id?: string }[];
  /** Of Durable Objects. */
  migrations?: { tag: string }[];
  durable_objects?: { bindings: { name: string }[]; code_update_strategy?: object };
  [setting: string]: unknown;
}

/**
 * The configuration of an environment, without environments in it. Its paths are absolute, so that it may be in any folder.
 *
 * @throws Error when wrangler.toml has no such environment.
 */
export function readConfiguration(env: string): Configuration {
  // With wrangler's own parser: wrangler itself takes more than a second to load.
  const { env: environments, ...top } = parse(readFileSync(FILE, "utf8")) as Configuration & {
    env: Record<string, Partial<Configuration>>;
  };
  const environment = environments[env];
  if (environment === undefined) throw new Error(`wrangler.toml has no environment ${env}.`);
  const inherited = Object.fromEntries(Object.entries(top).filter(([setting]) => !OWN.includes(setting)));
  const {
    main,
    alias = {},
    build,
    assets,
    d1_databases,
    kv_namespaces,
    ...rest
  } = {
    ...inherited,
    ...environment,
  } as Partial<Configuration>;
  if (main === undefined) throw new Error("wrangler.toml names no main.");
  return {
    ...rest,
    name: environment.name ?? `${top.name}-${env}`,
    main: join(PROJECT, main),
    alias: Object.fromEntries(Object.entries(alias).map(([module, file]) => [module, join(PROJECT, file)])),
    build: { ...build, cwd: PROJECT },
    assets: { ...assets, directory: join(PROJECT, assets?.directory ?? "") },
    d1_databases: (d1_databases ?? []).map((database) => ({
      ...database,
      migrations_dir: join(PROJECT, database.migrations_dir ?? "migrations"),
    })),
    kv_namespaces: kv_namespaces ?? [],
  };
}

export function idsOf({ d1_databases, kv_namespaces }: Configuration): ResourceIds {
  return {
    database: d1_databases.find(({ binding }) => binding === RESOURCES.database.binding)?.database_id,
    namespace: kv_namespaces.find(({ binding }) => binding === RESOURCES.namespace.binding)?.id,
  };
}

/** The id of a resource of an environment. @throws Error when wrangler.toml has none. */
export function requireId(env: string, resource: Resource): string {
  const id = idsOf(readConfiguration(env))[resource];
  if (id !== undefined) return id;
  const { table, key } = RESOURCES[resource];
  throw new Error(
    `wrangler.toml has no ${key} in [[env.${env}.${table}]]. npm run release -- --env ${env} creates what it names, and shows the ids of ` +
      "an environment that is deployed.",
  );
}

/** The lines of wrangler.toml that name a resource, as a person adds them. */
export function linesOf(env: string, resource: Resource, id: string): string {
  const { table, binding, key } = RESOURCES[resource];
  return `[[env.${env}.${table}]]\nbinding = "${binding}"\n${key} = "${id}"`;
}

/**
 * The text of wrangler.toml with the id of a resource. Everything else stays, comments too. wrangler's own --update-config (4.155.0) writes no file
 * with comments.
 *
 * @throws Error when the file does not have the binding in the form in which this repository has it.
 */
export function withId(env: string, resource: Resource, id: string): string {
  const { table, binding, key } = RESOURCES[resource];
  const name = `binding = "${binding}"\n`;
  let isThere = false;
  const text = readFileSync(FILE, "utf8").replace(
    new RegExp(`^\\[\\[env\\.${env}\\.${table}\\]\\]\\n(?:(?!\\[).*\\n)*`, "gm"),
    (block) => {
      if (!block.includes(`\n${name}`)) return block;
      isThere = true;
      return block.replace(new RegExp(`^${key} = .*\\n`, "m"), "").replace(name, () => `${name}${key} = "${id}"\n`);
    },
  );
  if (!isThere) throw new Error(`wrangler.toml has no [[env.${env}.${table}]] with the line ${name.trim()}.`);
  return text;
}

/** Writes the id of a resource to wrangler.toml. @throws Error, as `withId` does. */
export function writeId(env: string, resource: Resource, id: string): void {
  replaceFile(FILE, withId(env, resource, id));
}

/** Writes a configuration for wrangler's --config. Returns its path from the present folder. */
export function writeConfiguration(configuration: Configuration): string {
  const folder = join(PROJECT, ".wrangler/configurations");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${configuration.name}.json`);
  replaceFile(file, JSON.stringify(configuration, null, 2));
  return relative("", file);
}

/** Replaces a file at once: another command may be reading it. */
function replaceFile(file: string, text: string): void {
  const whole = `${file}.${randomUUID()}`;
  writeFileSync(whole, text);
  renameSync(whole, file);
}
