import { join, resolve } from "node:path";
import type { Environment } from "../../src/auth/key-format.ts";
import { runWrangler } from "../wrangler.ts";

const PROJECT = join(import.meta.dirname, "../..");

/** The KV namespace that holds the key records of an environment. Every method throws when it cannot be reached. */
export interface Namespace {
  /** @param metadata any JSON of up to 1,024 bytes; none when undefined. */
  put(name: string, value: string, metadata?: unknown): Promise<void>;
  get(name: string): Promise<string | undefined>;
  list(prefix: string): Promise<{ name: string; metadata?: unknown }[]>;
  close(): Promise<void>;
}

/**
 * @param persistTo the folder of the local state, for the local environment: that of `npm run dev` when undefined.
 * @throws Error when local storage cannot be opened. Staging and production are first contacted by the methods.
 */
export async function openNamespace(environment: Environment, persistTo?: string): Promise<Namespace> {
  if (environment === "local") return openLocal(persistTo);
  // `--preview=false` has wrangler look up the namespace that the first deploy created.
  return openRemote(["--binding=API_KEYS", `--env=${environment}`, "--preview=false"]);
}

async function openLocal(persistTo = join(PROJECT, ".wrangler/state")): Promise<Namespace> {
  // Loaded here, because it takes seconds on a slow machine, and no other environment and no mistake needs it.
  const { getPlatformProxy } = await import("wrangler");
  const { env, dispose } = await getPlatformProxy<Env>({
    configPath: join(PROJECT, "wrangler.toml"),
    // The top level of wrangler.toml, whatever CLOUDFLARE_ENV says.
    environment: "",
    // wrangler keeps its state in a folder of this name in the one that its --persist-to names.
    persist: { path: resolve(persistTo, "v3") },
    remoteBindings: false,
  });
  return {
    put: (name, value, metadata) => env.API_KEYS.put(name, value, { metadata }),
    get: async (name) => (await env.API_KEYS.get(name)) ?? undefined,
    async list(prefix) {
      const entries: { name: string; metadata?: unknown }[] = [];
      let cursor: string | undefined;
      do {
        const page = await env.API_KEYS.list({ prefix, ...(cursor !== undefined && { cursor }) });
        entries.push(...page.keys);
        cursor = page.list_complete ? undefined : page.cursor;
      } while (cursor !== undefined);
      return entries;
    },
    close: dispose,
  };
}

/**
 * A namespace at Cloudflare, through wrangler's own `kv key` commands: with whatever login wrangler has, and none of our own.
 *
 * @param target the options that name it.
 */
export function openRemote(target: readonly string[]): Namespace {
  const kvKey = (command: string, ...args: string[]) =>
    runWrangler(["kv", "key", command, ...args, ...target, "--remote"]);
  return {
    async put(name, value, metadata) {
      const more = metadata === undefined ? [] : [`--metadata=${JSON.stringify(metadata)}`];
      await kvKey("put", name, value, ...more);
    },
    get: (name) => kvKey("get", name, "--text"),
    list: async (prefix) => JSON.parse(await kvKey("list", `--prefix=${prefix}`)),
    close: async () => {},
  };
}
