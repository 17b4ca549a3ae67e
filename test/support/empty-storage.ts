import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Empties D1 and KV, and drops the tables. */
export async function emptyStorage(): Promise<void> {
  // `reset()` skips storage that workerd has unloaded, which it does after some seconds without use. This query loads it.
  await env.DB.exec("SELECT 1");
  await env.API_KEYS.list({ limit: 1 });
  await reset();
}
