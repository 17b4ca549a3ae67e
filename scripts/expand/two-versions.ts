import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare, type RequestInit, type Response } from "miniflare";
import { generateKey } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { bundleOf } from "../revision.ts";
import { buildBundle } from "../wrangler.ts";

const KEY = generateKey("production");
const KEY_RECORD: KeyRecord = {
  id: "expand",
  name: "expand",
  scopes: ["pets:read", "pets:write"],
  createdAt: "2026-01-01T00:00:00.000Z",
};

/** The production bundles of an earlier commit and of the present code, on one database and with the same API key. */
export interface TwoVersions extends AsyncDisposable {
  database: D1Database;
  send(version: "before" | "after", path: string, init?: RequestInit): Promise<Response>;
}

/**
 * Builds both, and starts them on an empty database without tables.
 *
 * @param folder the earlier commit, with its packages.
 */
export async function startTwoVersions(folder: string): Promise<TwoVersions> {
  const bundles = {
    before: bundleOf(folder),
    after: readFileSync(join(await buildBundle("production"), "index.js"), "utf8"),
  };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: Object.entries(bundles).map(([name, contents]) => ({
        name,
        routes: [`${name}.example/*`],
        modules: [{ type: "ESModule", path: "index.js", contents }],
        compatibilityDate: /^compatibility_date = "(.+)"/m.exec(readFileSync("wrangler.toml", "utf8"))?.[1] ?? "",
        bindings: { ENVIRONMENT: "production", LOG_SUCCESS_SHARE: "0" },
        d1Databases: { DB: "pets" },
        kvNamespaces: { API_KEYS: "keys" },
        ratelimits: { RATE_LIMITER: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } } },
      })),
      // Requests are logged nowhere.
      handleStructuredLogs() {},
    }),
  );
  const keys = await miniflare.getKVNamespace("API_KEYS", "before");
  await keys.put(await keyRecordName(KEY), JSON.stringify(KEY_RECORD));
  return {
    database: await miniflare.getD1Database("DB", "before"),
    send: (version, path, init) =>
      miniflare.dispatchFetch(`https://${version}.example${path}`, {
        ...init,
        headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json", ...init?.headers },
      }),
    [Symbol.asyncDispose]: () => miniflare.dispose(),
  };
}
