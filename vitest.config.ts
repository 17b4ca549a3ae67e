import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

// What the Worker serves has to be there before it starts.
execFileSync(process.execPath, ["openapi/build.ts"], { cwd: import.meta.dirname });

// A local D1 waits for the disk at every write, which is half of the time of a test that writes. Linux has a folder in memory: where it
// has room, the temporary files of the tests and of what they start go there. Not those of test:third-party: Deno reads nothing below
// /dev without every permission.
const MEMORY = "/dev/shm";
const MEMORY_BYTES = 2 ** 30;
if (process.env["TMPDIR"] === undefined && existsSync(MEMORY)) {
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize > MEMORY_BYTES) {
    const folder = mkdtempSync(`${MEMORY}/petstore-`);
    process.env["TMPDIR"] = folder;
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  }
}

// Much of the time of wrangler is its compilation, which Node.js then does once for all that the tests start.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, ".wrangler/compile-cache");

// All of Hono that `src/` imports: its parts know each other by symbols, so that none may come from another copy.
const PREBUNDLED = [
  "@cfworker/json-schema",
  "@hono/zod-validator",
  "drizzle-orm",
  "drizzle-orm/sqlite-core",
  "fast-check",
  "hono",
  "hono/cors",
  "hono/factory",
  "hono/method-not-allowed",
  "hono/route",
  "zod/mini",
];

export default defineConfig({
  test: {
    // The service logs every request. Shown only for the tests that fail.
    silent: "passed-only",
    // On a machine with two cores Vitest would use one; much of the time these wait for other processes.
    maxWorkers: 2,
    projects: [
      {
        // Inside workerd, beside the source, with real D1, KV and rate limiter. Each file starts with empty storage: test/support/migrate.ts.
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: { TEST_MIGRATIONS: await readD1Migrations("drizzle") },
              ratelimits: { TIGHT_RATE_LIMITER: { namespace_id: "tight", simple: { limit: 2, period: 60 } } },
            },
          })),
        ],
        test: {
          name: "workerd",
          // An isolate for each file would take more time to start than the tests take.
          isolate: false,
          // As one module each, these load in a third of the time: drizzle alone has a hundred.
          deps: { optimizer: { ssr: { enabled: true, include: PREBUNDLED } } },
          include: ["test/**/*.test.ts"],
          exclude: ["built", "load", "browser", "commands", "third-party"].map((folder) => `test/${folder}/**`),
          setupFiles: ["test/support/migrate.ts"],
          // Milliseconds: none of these takes long, but the machine may have other things to do.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // From outside, over real HTTP, against the bundle that would be deployed to production.
        test: {
          name: "built",
          // The files share their modules, so that each is loaded once. Each file starts a service of its own.
          isolate: false,
          include: ["test/built/**/*.test.ts"],
          globalSetup: "test/built/build.ts",
          // Milliseconds. Some of these send thousands of requests; on a busy machine that takes its time.
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        // What takes the bundle longer: races, a crowd of buyers, the client and the examples behind a proxy that fails: npm run test:load.
        test: {
          name: "load",
          include: ["test/load/**/*.test.ts"],
          globalSetup: ["test/built/build.ts", "test/built/pack.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The commands of developers and operators, each as a process or on storage of its own: npm run test:commands.
        test: {
          name: "commands",
          include: ["test/commands/**/*.test.ts"],
          maxConcurrency: 2,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The documentation page in Chromium, which a machine has to have: npm run test:browser.
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/built/build.ts", "test/built/pack.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Other people's tools against the bundle: npm run test:third-party, which needs the packages of test/third-party installed, and Java.
        test: {
          name: "third-party",
          include: ["test/third-party/**/*.test.ts"],
          globalSetup: ["test/built/build.ts", "test/built/pack.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
