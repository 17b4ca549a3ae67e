import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Empties D1 and KV, and drops the tables. */
export async function emptyStorage(): Promise<void> {
  // workerd unloads storage after ten seconds without use, and `reset()` skips unloaded storage. This query loads it.
  await env.DB.exec("SELECT 1");
  await env.API_KEYS.list({ limit: 1 });
  await reset();
}
