import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endWithThisProcess } from "./child.ts";

const PROJECT = join(import.meta.dirname, "..");

export type LocalBindings = Pick<Env, "DB" | "API_KEYS">;

/**
 * Opens the storage in a folder of local state, until `dispose`, or until this process ends in any way.
 *
 * @param persistTo wrangler's --persist-to: that of `npm run dev` when undefined.
 * @param environment wrangler's --env: the top level of wrangler.toml by default, whatever CLOUDFLARE_ENV says.
 * @throws Error when the storage cannot be opened.
 */
export async function openLocalBindings(persistTo = join(PROJECT, ".wrangler/state"), environment = "") {
  // Loaded here, because it takes seconds on a slow machine, and commands for other environments do not need it.
  const { getPlatformProxy, unstable_readConfig } = await import("wrangler");
  const config = unstable_readConfig({ config: join(PROJECT, "wrangler.toml"), env: environment });
  const { name, compatibility_date, d1_databases, kv_namespaces } = config;
  const folder = mkdtempSync(join(tmpdir(), "petstore-bindings-"));
  const configPath = join(folder, "wrangler.json");
  // Without the Durable Objects: nobody has their class here, and wrangler would warn of that.
  writeFileSync(configPath, JSON.stringify({ name, compatibility_date, d1_databases, kv_namespaces }));
  const { result, release } = await endWithThisProcess(() =>
    getPlatformProxy<LocalBindings>({
      configPath,
      // wrangler keeps its state in a folder of this name in the one that its --persist-to names.
      persist: { path: resolve(persistTo, "v3") },
      remoteBindings: false,
    }),
  ).finally(() => rmSync(folder, { recursive: true }));
  return { ...result, dispose: () => result.dispose().finally(release) };
}
