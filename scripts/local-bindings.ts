import { join, resolve } from "node:path";
import { endWithThisProcess } from "./child.ts";

const PROJECT = join(import.meta.dirname, "..");

/**
 * Opens the bindings of a folder of local state, until `dispose`, or until this process ends in any way.
 *
 * @param persistTo wrangler's --persist-to: that of `npm run dev` when undefined.
 * @param environment wrangler's --env: the top level of wrangler.toml by default, whatever CLOUDFLARE_ENV says.
 * @throws Error when the storage cannot be opened.
 */
export async function openLocalBindings(persistTo = join(PROJECT, ".wrangler/state"), environment = "") {
  // Loaded here, because it takes seconds on a slow machine, and commands for other environments do not need it.
  const { getPlatformProxy } = await import("wrangler");
  const { result, release } = await endWithThisProcess(() =>
    getPlatformProxy<Env>({
      configPath: join(PROJECT, "wrangler.toml"),
      environment,
      // wrangler keeps its state in a folder of this name in the one that its --persist-to names.
      persist: { path: resolve(persistTo, "v3") },
      remoteBindings: false,
    }),
  );
  return { ...result, dispose: () => result.dispose().finally(release) };
}
