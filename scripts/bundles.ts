import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { keyRecordName } from "../src/auth/key-record.ts";
import { SCOPES } from "../src/auth/scopes.ts";

/** Of the service. */
export const COMPATIBILITY_DATE =
  /^compatibility_date = "(.+)"/m.exec(readFileSync(join(import.meta.dirname, "../wrangler.toml"), "utf8"))?.[1] ?? "";

export interface Module {
  type: "ESModule" | "Text";
  path: string;
  contents: string;
}

export interface Bundles extends AsyncDisposable {
  /** On 127.0.0.1. A request goes to the bundle whose name is in its host (`name.example`), or else to the first. */
  port: number;
  database: D1Database;
  keys: { put(name: string, record: string): Promise<void> };
  dispatchFetch: Miniflare["dispatchFetch"];
  runJob(name: string): Promise<void>;
}

/**
 * Runs production bundles in workerd, on a shared new D1 and KV. The database has no tables.
 *
 * @param bundles the modules of each by its name, the entry first.
 * @param key an API key with all scopes.
 * @param onLine receives each line of the log.
 * @param persistTo the folder of the storage, if it has to outlive them.
 */
export async function startBundles(
  bundles: { [name: string]: Module[] },
  key: string,
  onLine: (line: Record<string, unknown>) => void = () => {},
  persistTo?: string,
): Promise<Bundles> {
  const miniflare = new Miniflare({
    ...convertV4MiniflareOptions({
      workers: Object.entries(bundles).map(([name, modules]) => ({
        name,
        modules,
        routes: [`${name}.example/*`],
        compatibilityDate: COMPATIBILITY_DATE,
        bindings: { ENVIRONMENT: "production", LOG_SUCCESS_SHARE: "1", VERSION: { id: "test" } },
        d1Databases: { DB: "pets" },
        kvNamespaces: { API_KEYS: "keys" },
        ratelimits: { RATE_LIMITER: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } } },
      })),
      handleStructuredLogs({ message }) {
        if (message.startsWith("{")) onLine(JSON.parse(message));
      },
    }),
    ...(persistTo !== undefined && { resourcePersistencePath: persistTo }),
  });
  const port = Number((await miniflare.ready).port);
  const [first = ""] = Object.keys(bundles);
  const keys = await miniflare.getKVNamespace("API_KEYS", first);
  await keys.put(await keyRecordName(key), RECORD);
  return {
    port,
    database: await miniflare.getD1Database("DB", first),
    keys,
    dispatchFetch: miniflare.dispatchFetch,
    runJob: async (name) => void (await (await miniflare.getWorker(name)).scheduled()),
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  };
}

/** Of the API key. */
export const RECORD = JSON.stringify({
  id: "key_000000000000",
  name: "test",
  scopes: SCOPES,
  createdAt: "2026-01-01T00:00:00.000Z",
});
