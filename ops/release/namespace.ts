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
