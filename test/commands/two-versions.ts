import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { COMPATIBILITY_DATE, ROOT } from "../../bench/candidates.ts";
import { bundle, checkOut } from "../../bench/revision.ts";
import { applyMigrations } from "../../scripts/migrations.ts";
import { buildBundle } from "../../scripts/wrangler.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";

const KEY = generateKey("production");
const KEY_RECORD: KeyRecord = {
  id: "test",
  name: "test",
  scopes: ["pets:read", "pets:write"],
  createdAt: "2026-01-01T00:00:00.000Z",
};

/** The last commit without a file; undefined when the history of git does not go back so far. */
export function revisionBefore(file: string): string | undefined {
  try {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: "pipe" }).trim();
    const added = git("log", "--diff-filter=A", "--format=%H", "--", file).split("\n").at(-1);
    return git("rev-parse", "--verify", `${added}^`);
  } catch {
    return undefined;
  }
}

export interface Call {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

/** The production bundles of another commit and of the present code, on one database and with the same API key. */
export class TwoVersions {
  readonly database: D1Database;
  readonly #miniflare: Miniflare;

  private constructor(miniflare: Miniflare, database: D1Database) {
    this.#miniflare = miniflare;
    this.database = database;
  }

  /** Builds both, and starts them on an empty database with the tables of the version before. */
  static async start(revision: string): Promise<TwoVersions> {
    const folder = mkdtempSync(join(tmpdir(), "petstore-upgrade-"));
    try {
      const building = buildBundle("production");
      const copy = checkOut(revision, folder);
      const before = bundle(copy);
      const after = readFileSync(join(ROOT, await building, "index.js"), "utf8");
      const miniflare = new Miniflare(
        convertV4MiniflareOptions({
          workers: Object.entries({ before, after }).map(([name, contents]) => ({
            name,
            routes: [`${name}.example/*`],
            modules: [{ type: "ESModule", path: "index.js", contents }],
            compatibilityDate: COMPATIBILITY_DATE,
            bindings: { ENVIRONMENT: "production" },
            d1Databases: { DB: "pets" },
            kvNamespaces: { API_KEYS: "keys" },
            ratelimits: { RATE_LIMITER: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } } },
          })),
          // Requests are logged nowhere.
          handleStructuredLogs() {},
        }),
      );
      const database = await miniflare.getD1Database("DB", "before");
      await applyMigrations(database, join(copy, "drizzle"));
      const keys = await miniflare.getKVNamespace("API_KEYS", "before");
      await keys.put(await keyRecordName(KEY), JSON.stringify(KEY_RECORD));
      return new TwoVersions(miniflare, database);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Brings the database to the tables of the present code. */
  async migrate(): Promise<void> {
    await applyMigrations(this.database, join(ROOT, "drizzle"));
  }

  send(version: "before" | "after", path: string, { headers, ...call }: Call = {}) {
    return this.#miniflare.dispatchFetch(`https://${version}.example${path}`, {
      ...call,
      headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json", ...headers },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare.dispose();
  }
}
