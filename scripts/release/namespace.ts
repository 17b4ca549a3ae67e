import type { Cloudflare } from "./cloudflare.ts";

export interface Namespace {
  id: string;
  title: string;
}

/** The name that wrangler gives the KV namespace that it creates for a Worker's keys. */
export function namespaceTitle(worker: string): string {
  return `${worker}-api-keys`;
}

/** The namespace of this title. wrangler itself looks for a namespace only in the bindings of the deployed Worker. */
export async function findNamespace(cloudflare: Cloudflare, title: string): Promise<Namespace | undefined> {
  const namespaces = await cloudflare.list<Namespace>("/storage/kv/namespaces");
  return namespaces.find((namespace) => namespace.title === title);
}
