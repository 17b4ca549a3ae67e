import { applyD1Migrations, type D1Migration, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, vi } from "vitest";

declare global {
  namespace Cloudflare {
    interface Env {
      TEST_MIGRATIONS: D1Migration[];
      /** Two requests a minute, to meet the limit in a test. */
      TIGHT_RATE_LIMITER: RateLimit;
    }
  }
}

// The files of the project share isolates. Each one starts with empty storage, and with the real clock.
beforeAll(async () => {
  vi.useRealTimers();
  // `reset()` passes over storage that workerd has unloaded, which it does after ten seconds without a use. A use loads it.
  await env.DB.exec("SELECT 1");
  await env.API_KEYS.list({ limit: 1 });
  await reset();
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
});
