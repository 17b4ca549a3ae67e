import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parse } from "smol-toml";

const PROJECT = resolve(import.meta.dirname, "../..");

/** What wrangler lets an environment inherit from the top level. Bindings and variables are not in it. */
export const INHERITED = `
  name main account_id compatibility_date compatibility_flags compliance_region tsconfig find_additional_modules
  preserve_file_names base_dir rules no_bundle minify keep_names jsx_factory jsx_fragment upload_source_maps build
  python_modules alias first_party_worker workers_dev preview_urls route routes triggers migrations exports limits
  placement assets observability logpush logfwdr access cache previews keep_vars dev site wasm_modules text_blobs
  data_blobs addresses send_metrics pages_build_output_dir dependencies_instrumentation
`
  .trim()
  .split(/\s+/);

/** What we read and change of a configuration. The rest is passed on as it is. */
export interface Configuration {
  name: string;
  main: string;
  build?: { command?: string; cwd?: string };
  assets?: { directory?: string };
  routes?: (string | { pattern: string; custom_domain?: boolean })[];
  vars?: Record<string, unknown>;
  d1_databases: { binding: string; database_name: string; database_id?: string; migrations_dir?: string }[];
  kv_namespaces: { binding: string; id?: string }[];
  /** Of Durable Objects. */
  migrations?: { tag: string }[];
  [setting: string]: unknown;
}

/**
 * The configuration of an environment, without environments in it. Its paths are absolute, so that it may be in any folder.
 *
 * @throws Error when wrangler.toml has no such environment.
 */
export function readConfiguration(env: string): Configuration {
  // With wrangler's own parser: wrangler itself takes more than a second to load.
  const { env: environments, ...top } = parse(readFileSync(join(PROJECT, "wrangler.toml"), "utf8")) as Configuration & {
    env: Record<string, Partial<Configuration>>;
  };
  const environment = environments[env];
  if (environment === undefined) throw new Error(`wrangler.toml has no environment ${env}.`);
  const inherited = Object.fromEntries(Object.entries(top).filter(([setting]) => INHERITED.includes(setting)));
  const { main, build, assets, d1_databases, kv_namespaces, ...rest } = {
    ...inherited,
    ...environment,
  } as Partial<Configuration>;
  if (main === undefined) throw new Error("wrangler.toml names no main.");
  return {
    ...rest,
    name: environment.name ?? `${top.name}-${env}`,
    main: join(PROJECT, main),
    build: { ...build, cwd: PROJECT },
    assets: { ...assets, directory: join(PROJECT, assets?.directory ?? "") },
    d1_databases: (d1_databases ?? []).map((database) => ({
      ...database,
      migrations_dir: join(PROJECT, database.migrations_dir ?? "migrations"),
    })),
    kv_namespaces: kv_namespaces ?? [],
  };
}

/** Writes a configuration for wrangler's --config. Returns its path from the present folder. */
export function writeConfiguration(configuration: Configuration): string {
  const folder = join(PROJECT, ".wrangler/configurations");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${configuration.name}.json`);
  // At once: another command may be reading it.
  const whole = `${file}.${randomUUID()}`;
  writeFileSync(whole, JSON.stringify(configuration, null, 2));
  renameSync(whole, file);
  return relative("", file);
}
