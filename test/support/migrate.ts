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

// The service logs every request. To send each line out of the isolate takes longer than some tests, so only a test that fails does it.
const lines: [stream: "log" | "warn" | "error", ...parts: unknown[]][] = [];
const { log, warn, error } = console;
beforeAll(() => {
  for (const stream of ["log", "warn", "error"] as const)
    console[stream] = (...parts) => lines.push([stream, ...parts]);
});
afterEach(({ task }) => {
  if (task.result?.state === "fail") for (const [stream, ...parts] of lines) ({ log, warn, error })[stream](...parts);
  lines.length = 0;
});
afterAll(() => void Object.assign(console, { log, warn, error }));

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
