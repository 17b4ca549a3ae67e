import type { Environment } from "../../src/auth/key-format.ts";
import { openLocalBindings } from "../../scripts/local-bindings.ts";
import { ApiFailure } from "../release/api.ts";
import { type Cloudflare, connect } from "../release/cloudflare.ts";
import { readConfiguration } from "../release/configuration.ts";
import { listDeployments, readVersion, resourcesOf } from "../release/deployment.ts";
import { mainVersion } from "../release/history.ts";
import { findNamespace, namespaceTitle } from "../release/namespace.ts";
import type { DeployedEnvironment } from "../release/options.ts";

/** What KV has under a name. */
export interface Entry {
  value: string;
  metadata?: unknown;
}

/** The KV namespace that holds the key records of an environment. Every method throws when it cannot be reached. */
export interface Namespace {
  /** @param metadata any JSON of up to 1,024 bytes; none when undefined. */
  put(name: string, value: string, metadata?: unknown): Promise<void>;
  /** @param make is called right before each attempt, so that a write which waited does not undo what others wrote meanwhile. */
  update(name: string, make: () => Promise<Entry>): Promise<void>;
  get(name: string): Promise<string | undefined>;
  list(prefix: string): Promise<{ name: string; metadata?: unknown }[]>;
  close(): Promise<void>;
}

/**
 * @param say is told when the namespace was found in another way than usual.
 * @param persistTo the folder of the local state, for the local environment: that of `npm run dev` when undefined.
 * @throws Error when local storage cannot be opened. Staging and production are first contacted by the methods.
 */
export async function openNamespace(
  environment: Environment,
  say: (text: string) => void,
  persistTo?: string,
): Promise<Namespace> {
  if (environment === "local") return openLocal(persistTo);
  return openOwn(environment, say);
}

async function openLocal(persistTo?: string): Promise<Namespace> {
  const { env, dispose } = await openLocalBindings(persistTo);
  return {
    put: (name, value, metadata) => env.API_KEYS.put(name, value, { metadata }),
    async update(name, make) {
      const { value, metadata } = await make();
      await env.API_KEYS.put(name, value, { metadata });
    },
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
 * The namespace of an environment: the one that its Worker uses, or the one of the title when there is no Worker. A token that may not
 * read the Worker gets the one that a release of this checkout would use.
 *
 * @throws Error when there is none.
 */
async function openOwn(environment: DeployedEnvironment, say: (text: string) => void): Promise<Namespace> {
  // What a command says about its requests is for releases: here standard error has nothing but mistakes.
  const silent = { print: () => {}, say: () => {}, read: async () => "" };
  const cloudflare = await connect(silent, { say });
  // Not the whole target: a key can be revoked while wrangler.toml names no database.
  const configuration = readConfiguration(environment);
  const { name: worker } = configuration;
  let isReadable = true;
  const named = await boundNamespace(cloudflare, worker).catch((error: unknown) => {
    if (!(error instanceof ApiFailure && error.isUnauthorized)) throw error;
    isReadable = false;
    return configuration.kv_namespaces.find(({ binding }) => binding === "API_KEYS")?.id;
  });
  const title = namespaceTitle(worker);
  const id = named ?? (await findNamespace(cloudflare, title))?.id;
  if (id === undefined) throw new Error(`${environment} has no KV namespace yet. Release it first.`);
  if (!isReadable) {
    const found = named === undefined ? `the title ${title}` : `the id ${named} of wrangler.toml`;
    say(`The token may not read ${worker}. So the keys are in the namespace with ${found}.`);
  }
  return openRemote(cloudflare, id);
}

/** The namespace of the Worker's main version. */
async function boundNamespace(cloudflare: Cloudflare, worker: string): Promise<string | undefined> {
  const [present] = await listDeployments(cloudflare, worker);
  const version = present && mainVersion(present.versions);
  return version && resourcesOf(await readVersion(cloudflare, worker, version)).namespace;
}

/** What can be done with a namespace at Cloudflare beside what can be done with every one. */
export interface RemoteNamespace extends Namespace {
  /** @param lifetime seconds after which KV removes the entry. Never when undefined. At least 60. */
  put(name: string, value: string, metadata?: unknown, lifetime?: number): Promise<void>;
  delete(name: string): Promise<void>;
}

/** A namespace at Cloudflare, by its id. */
export function openRemote(cloudflare: Cloudflare, id: string): RemoteNamespace {
  const namespace = `/storage/kv/namespaces/${id}`;
  const path = (name: string) => `${namespace}/values/${encodeURIComponent(name)}`;
  return {
    async put(name, value, metadata, lifetime) {
      const query = lifetime === undefined ? "" : `?expiration_ttl=${lifetime}`;
      await cloudflare.send({ method: "PUT", path: path(name) + query, body: formOf({ value, metadata }) });
    },
    async update(name, make) {
      await cloudflare.send({ method: "PUT", path: path(name), body: async () => formOf(await make()) });
    },
    get: (name) => cloudflare.getText(path(name)),
    list: (prefix) => cloudflare.listByCursor(`${namespace}/keys?prefix=${encodeURIComponent(prefix)}`),
    async delete(name) {
      await cloudflare.send({ method: "DELETE", path: path(name) });
    },
    close: async () => {},
  };
}

function formOf({ value, metadata }: Entry): FormData {
  const form = new FormData();
  form.set("value", value);
  if (metadata !== undefined) form.set("metadata", JSON.stringify(metadata));
  return form;
}
