import { randomUUID } from "node:crypto";
import { createTestHarness, type TestHarness, type WorkerHandle } from "wrangler";
import { generateKey } from "../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../src/auth/key-record.ts";
import { SCOPES } from "../src/auth/scopes.ts";
import { WRANGLER_SETTINGS } from "./wrangler.ts";

// The wrangler of this process reads them too.
Object.assign(process.env, WRANGLER_SETTINGS);

export interface ProductionService {
  url: URL;
  /** A production key with all scopes. */
  key: string;
  harness: TestHarness;
  worker: WorkerHandle<Env>;
}

/**
 * Runs the production bundle in workerd behind a real socket, with empty migrated storage.
 *
 * @param bundle the folder that `buildBundle` returned. Without it, the service is bundled first.
 */
export async function startProductionService(bundle?: string): Promise<ProductionService> {
  const built = bundle === undefined ? {} : { prebuiltWorkerDir: bundle };
  const secrets = { TOKEN_SECRET: randomUUID() };
  const input = { configPath: "wrangler.toml", env: "production", secrets, ...built };
  const harness = createTestHarness({ workers: [input] });
  const { url } = await harness.listen();
  const worker = harness.getWorker<Env>();
  await worker.applyD1Migrations("DB");
  return { url, key: await grantProductionKey(worker), harness, worker };
}

/** Stores a key, by default a new production key with all scopes. */
export async function grantProductionKey(
  worker: Pick<WorkerHandle<Pick<Env, "API_KEYS">>, "getEnv">,
  key: string = generateKey("production"),
  scopes: readonly string[] = SCOPES,
): Promise<string> {
  const { API_KEYS } = await worker.getEnv();
  const record: KeyRecord = {
    id: crypto.randomUUID(),
    name: "test",
    scopes: [...scopes],
    createdAt: "2026-01-01T00:00:00.000Z",
  };
  await API_KEYS.put(await keyRecordName(key), JSON.stringify(record));
  return key;
}
