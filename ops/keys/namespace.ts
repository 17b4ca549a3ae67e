import type { Environment } from "../../src/auth/key-format.ts";
import { openLocalBindings } from "../../scripts/local-bindings.ts";
import { type Cloudflare, connect } from "../release/cloudflare.ts";
import { requireId } from "../release/configuration.ts";

/** What KV has under a name. */
export interface Entry {
  value: string;
  /** Any JSON of up to 1,024 bytes. None when undefined. */
  metadata?: unknown;
}
type NewEntry = Entry | (() => Promise<Entry>);

/** The KV namespace that holds the key records of an environment. Every method throws when it cannot be reached. */
export interface Namespace {
  /** @param entry if it is a function, it is called right before each attempt: a write that waited does not undo what others wrote meanwhile. */
  put(name: string, entry: NewEntry): Promise<void>;
  get(name: string): Promise<string | undefined>;
  list(prefix: string): Promise<{ name: string; metadata?: unknown }[]>;
  /** The time by the clock of the storage, as far as it is known, in milliseconds since 1970. */
  now(): number;
  /** @throws Error when the clock of this machine is wrong. */
  refuseClock(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The namespace of an environment, by its id in wrangler.toml: a key can be revoked while everything but KV fails.
 *
 * @param say is told of a wait for the API.
 * @param persistTo the folder of the local state, for the local environment: that of `npm run dev` when undefined.
 * @throws Error when local storage cannot be opened, and when wrangler.toml has no id. Staging and production are first contacted by the methods.
 */
export async function openNamespace(
  environment: Environment,
  say: (text: string) => void,
  persistTo?: string,
): Promise<Namespace> {
  if (environment === "local") return openLocal(persistTo);
  const id = requireId(environment, "namespace");
  // What a command says about its requests is for releases: here standard error has nothing but mistakes.
  const silent = { print: () => {}, say: () => {}, read: async () => "" };
  return openRemote(await connect(silent, { say }), id);
}

async function openLocal(persistTo?: string): Promise<Namespace> {
  const { env, dispose } = await openLocalBindings(persistTo);
  return {
    async put(name, entry) {
      const { value, metadata } = typeof entry === "function" ? await entry() : entry;
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
    now: () => Date.now(),
    refuseClock: async () => {},
    close: dispose,
  };
}

/** What can be done with a namespace at Cloudflare beside what can be done with every one. */
export interface RemoteNamespace extends Namespace {
  /** @param lifetime seconds after which KV removes the entry. Never when undefined. At least 60 (KV documentation). */
  put(name: string, entry: NewEntry, lifetime?: number): Promise<void>;
  delete(name: string): Promise<void>;
}

/** A namespace at Cloudflare, by its id. */
export function openRemote(cloudflare: Cloudflare, id: string): RemoteNamespace {
  const namespace = `/storage/kv/namespaces/${id}`;
  const path = (name: string) => `${namespace}/values/${encodeURIComponent(name)}`;
  return {
    async put(name, entry, lifetime) {
      const query = lifetime === undefined ? "" : `?expiration_ttl=${lifetime}`;
      const body = async () => formOf(typeof entry === "function" ? await entry() : entry);
      await cloudflare.send({ method: "PUT", path: path(name) + query, body });
    },
    get: (name) => cloudflare.getText(path(name)),
    list: (prefix) => cloudflare.listByCursor(`${namespace}/keys?prefix=${encodeURIComponent(prefix)}`),
    now: () => cloudflare.now(),
    async refuseClock() {
      await cloudflare.get(namespace);
      cloudflare.refuseClock();
    },
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
