import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

const PROJECT = resolve(import.meta.dirname, "../..");

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
  [setting: string]: unknown;
}

/**
 * The configuration of an environment, without environments in it. Its paths are absolute, so that it may be in any folder.
 *
 * @throws Error when wrangler.toml has no such environment.
 */
export async function readConfiguration(env: string): Promise<Configuration> {
  // Loaded here, because it takes more than a second, and no mistake needs it.
  const { experimental_readRawConfig: readRawConfig } = await import("wrangler");
  const { rawConfig } = readRawConfig({ config: join(PROJECT, "wrangler.toml") }) as {
    rawConfig: Configuration & { env: Record<string, Partial<Configuration>> };
  };
  const { env: environments, $schema: _, ...top } = rawConfig;
  const environment = environments[env];
  if (environment === undefined) throw new Error(`wrangler.toml has no environment ${env}.`);
  const { main, build, assets, d1_databases, ...rest } = { ...top, ...environment };
  return {
    ...rest,
    name: environment.name ?? `${top.name}-${env}`,
    main: join(PROJECT, main),
    build: { ...build, cwd: PROJECT },
    assets: { ...assets, directory: join(PROJECT, assets?.directory ?? "") },
    d1_databases: d1_databases.map((database) => ({
      ...database,
      migrations_dir: join(PROJECT, database.migrations_dir ?? "migrations"),
    })),
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
