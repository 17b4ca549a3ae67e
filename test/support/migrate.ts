import { applyD1Migrations, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, vi } from "vitest";
import { seenForms } from "./contract.ts";
import { emptyStorage } from "./empty-storage.ts";
import { renewKey } from "./keys.ts";

declare global {
  namespace Cloudflare {
    interface Env {
      TEST_MIGRATIONS: D1Migration[];
      /** Two requests a minute, so that a test can reach the limit. */
      TIGHT_RATE_LIMITER: RateLimit;
    }
  }
}

// The files of the project share isolates. Each starts with empty storage but for a key, and with the real clock.
beforeAll(async () => {
  vi.useRealTimers();
  await emptyStorage();
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
  await renewKey();
});

afterEach(({ task }) => {
  task.file.meta.forms = [...seenForms];
});

// The webhooks of a file would go on.
afterAll(emptyStorage);
