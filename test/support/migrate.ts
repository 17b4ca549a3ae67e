import { applyD1Migrations, type D1Migration, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, vi } from "vitest";

declare global {
  namespace Cloudflare {
    interface Env {
      TEST_MIGRATIONS: D1Migration[];
      /** Two requests a minute, so that a test can reach the limit. */
      TIGHT_RATE_LIMITER: RateLimit;
    }
  }
}

// The files of the project share isolates. Each starts with empty storage and the real clock.
beforeAll(async () => {
  vi.useRealTimers();
  // workerd unloads storage after ten seconds without use, and `reset()` skips unloaded storage. This query loads it.
  await env.DB.exec("SELECT 1");
  await env.API_KEYS.list({ limit: 1 });
  await reset();
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
});
