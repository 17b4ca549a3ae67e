import { join } from "node:path";
import { SCOPES } from "../src/auth/scopes.ts";
import { type KeyRecord, keyRecordName } from "../src/auth/key-record.ts";
import { LOCAL_API_KEY } from "../src/local-api-key.ts";
import { type LocalBindings, openLocalBindings } from "./local-bindings.ts";
import { applyMigrations } from "./migrations.ts";
import { SEED } from "./seed.ts";

export const LOCAL_KEY_RECORD: KeyRecord = {
  id: "local",
  name: "Local development",
  scopes: [...SCOPES],
  createdAt: "2026-01-01T00:00:00.000Z",
};

/**
 * Prepares a local D1 database and KV namespace for the service: migrations, the local API key, and animals the first time. Safe
 * to repeat and to interrupt.
 */
export async function prepareStorage({ DB, API_KEYS }: LocalBindings): Promise<void> {
  await applyMigrations(DB, join(import.meta.dirname, "../drizzle"));
  await API_KEYS.put(await keyRecordName(LOCAL_API_KEY), JSON.stringify(LOCAL_KEY_RECORD), {
    metadata: LOCAL_KEY_RECORD,
  });
  await DB.batch(SEED.map((seed) => DB.prepare(seed)));
}

/**
 * Prepares the storage in a folder of local state that nobody serves yet.
 *
 * @param persistTo wrangler's --persist-to.
 */
export function prepareLocalState(persistTo: string): Promise<void> {
  return useLocalState(persistTo, "", prepareStorage);
}

/**
 * Opens the storage in a folder of local state that nobody serves, for as long as `use` takes.
 *
 * @param persistTo wrangler's --persist-to.
 * @param environment wrangler's --env.
 */
export async function useLocalState<Result>(
  persistTo: string,
  environment: string,
  use: (bindings: LocalBindings) => Promise<Result>,
): Promise<Result> {
  const local = await openLocalBindings(persistTo, environment);
  try {
    return await use(local.env);
  } finally {
    await local.dispose();
  }
}
