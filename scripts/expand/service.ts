import { join } from "node:path";
import { createTestHarness } from "wrangler";
import { generateKey } from "../../src/auth/key-format.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { applyMigrations } from "../migrations.ts";
import { startWrangler } from "../wrangler.ts";
import { once } from "node:events";
import { useBefore, useAfter } from "./operations.ts";

/** Scopes of the stable operations. */
const SCOPES = ["pets:read", "pets:write"];

/**
 * Runs the code of a folder on its own schema, migrates the database under it, and uses it before and after.
 *
 * @param folder an earlier commit, with its packages.
 * @param migrations the folder of all migrations.
 * @throws Error when a response is wrong.
 */
export async function tryOnNewSchema(folder: string, migrations: string): Promise<void> {
  const bundle = join(folder, ".dist/expand");
  const build = startWrangler(["deploy", "--dry-run", "--env=production", `--outdir=${bundle}`], {
    cwd: folder,
    stdio: ["ignore", "ignore", 2],
  });
  const [code]: unknown[] = await once(build, "close");
  if (code !== 0) throw new Error("It cannot be built.");

  const harness = createTestHarness({
    workers: [{ configPath: join(folder, "wrangler.toml"), env: "production", prebuiltWorkerDir: bundle }],
  });
  try {
    const { url } = await harness.listen();
    const { DB, API_KEYS } = await harness.getWorker<Env>().getEnv();
    const key = generateKey("production");
    const record = { id: "expand", name: "expand", scopes: SCOPES, createdAt: new Date().toISOString() };
    await API_KEYS.put(await keyRecordName(key), JSON.stringify(record));

    await applyMigrations(DB, join(folder, "drizzle"));
    const animal = await useBefore(url, key);
    await applyMigrations(DB, migrations);
    await useAfter(url, key, animal);
  } finally {
    await harness.close();
  }
}
