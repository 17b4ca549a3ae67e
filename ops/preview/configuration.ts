import { type Configuration, readConfiguration, writeConfiguration } from "../release/configuration.ts";
import type { Preview } from "./names.ts";

/**
 * What previews add to the ids of staging in wrangler.toml, for the namespaces of counters that all previews share: 1003, 1013 and 1023. Each
 * API key has a counter of its own, and no two limits share a namespace.
 */
const RATE_LIMIT_OFFSET = 2;

/** Settings that a preview takes from staging. They name no resource: objects belong to the Worker of the preview. */
const SHARED = [
  "main",
  "compatibility_date",
  "compatibility_flags",
  "migrations",
  "durable_objects",
  "minify",
  "keep_names",
  "upload_source_maps",
].concat(["alias", "build", "assets", "observability", "limits", "placement", "version_metadata", "vars"]);
/** Settings that a preview replaces, or does without. */
const OWN = [
  "name",
  "workers_dev",
  "preview_urls",
  "routes",
  "triggers",
  "d1_databases",
  "kv_namespaces",
  "ratelimits",
];

/**
 * Writes the configuration of a preview: that of staging, with resources of its own. Cron triggers and routes are left out.
 *
 * @returns the path of the file.
 * @throws Error when staging has a resource that a preview would share.
 */
export function writePreviewConfiguration(preview: Preview, ids: { database: string; namespace: string }): string {
  const staging = readConfiguration("staging");
  refuseShared(staging);
  const ratelimits = (staging.ratelimits ?? []).map((limit) => ({
    ...limit,
    namespace_id: String(Number(limit.namespace_id) + RATE_LIMIT_OFFSET),
  }));
  return writeConfiguration({
    ...(Object.fromEntries(SHARED.map((setting) => [setting, staging[setting]])) as Configuration),
    name: preview.worker,
    workers_dev: true,
    preview_urls: false,
    ratelimits,
    d1_databases: staging.d1_databases.map((database) => ({
      ...database,
      database_name: preview.database,
      database_id: ids.database,
    })),
    kv_namespaces: staging.kv_namespaces.map((namespace) => ({ ...namespace, id: ids.namespace })),
  });
}

function refuseShared(staging: Configuration): void {
  const unknown = Object.keys(staging).filter((setting) => !SHARED.includes(setting) && !OWN.includes(setting));
  const databases = staging.d1_databases.map(({ binding }) => binding).filter((binding) => binding !== "DB");
  const namespaces = staging.kv_namespaces.map(({ binding }) => binding).filter((binding) => binding !== "API_KEYS");
  const shared = [...unknown, ...databases, ...namespaces];
  if (shared.length === 0) return;
  throw new Error(`A preview would share ${shared.join(", ")} with staging. Teach ops/preview/configuration.ts.`);
}
