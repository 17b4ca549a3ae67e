import type { Terminal } from "../terminal.ts";
import type { Cloudflare } from "./cloudflare.ts";

export interface Namespace {
  id: string;
  title: string;
  jurisdiction?: string | null;
}

/** The name that wrangler would give the KV namespace of a Worker's keys. */
export function namespaceTitle(worker: string): string {
  return `${worker}-api-keys`;
}

/** The namespace of this title. */
export async function findNamespace(cloudflare: Cloudflare, title: string): Promise<Namespace | undefined> {
  const namespaces = await cloudflare.list<Namespace>("/storage/kv/namespaces");
  return namespaces.find((namespace) => namespace.title === title);
}

export function createNamespace(cloudflare: Cloudflare, title: string, jurisdiction?: string): Promise<Namespace> {
  const body = { title, ...(jurisdiction !== undefined && { jurisdiction }) };
  return cloudflare.changeOnce<Namespace>({ method: "POST", path: "/storage/kv/namespaces", body }, () =>
    findNamespace(cloudflare, title),
  );
}

/**
 * Finds the namespace that holds the keys of a Worker, or creates it. Nobody can change its jurisdiction later.
 *
 * @param bound the id of the namespace that wrangler.toml names, or else of the one that the deployed Worker uses.
 * @param jurisdiction of the database. The records of the keys have the names of their owners, so they stay under the same law.
 * @throws Error when Cloudflare fails.
 */
export async function prepareNamespace(
  cloudflare: Cloudflare,
  { worker, bound, jurisdiction }: { worker: string; bound: string | undefined; jurisdiction: string | undefined },
  terminal: Terminal,
): Promise<Namespace> {
  const title = namespaceTitle(worker);
  const namespaces = await cloudflare.list<Namespace>("/storage/kv/namespaces");
  const present =
    namespaces.find(({ id }) => id === bound) ?? namespaces.find((namespace) => namespace.title === title);
  if (bound !== undefined && present?.id !== bound) {
    terminal.say(`\nThe KV namespace ${bound} of ${worker} is gone, with all API keys that it had.`);
  }
  if (present === undefined) return createNamespace(cloudflare, title, jurisdiction);
  if (jurisdiction !== undefined && present.jurisdiction !== jurisdiction) {
    terminal.say(
      `\nThe database is under the jurisdiction ${jurisdiction}, and the KV namespace ${present.title}, which has the names of the ` +
        `owners of API keys, is not: docs/releases.md.`,
    );
  }
  return present;
}
