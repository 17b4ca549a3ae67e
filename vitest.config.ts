import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { Response } from "miniflare";
import { defineConfig, type Plugin } from "vitest/config";
import { moduleOf, STATEMENTS, textsOf } from "./scripts/compile-statements.ts";

// The Worker needs the files of public/ before it starts.
execFileSync(process.execPath, ["openapi/build.ts"], { cwd: import.meta.dirname });

// On Linux, the temporary files of the tests and of their processes go to a folder in memory, if it has room: no write of a local D1 waits
// for the disk.
const MEMORY = "/dev/shm";
const MEMORY_BYTES = 2 ** 30;
const DISK = tmpdir();
if (process.env["TMPDIR"] === undefined && existsSync(MEMORY)) {
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize > MEMORY_BYTES) {
    const folder = mkdtempSync(`${MEMORY}/petstore-`);
    process.env["TMPDIR"] = folder;
    process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  }
}

// Node.js then compiles wrangler once for all processes that the tests start.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, ".wrangler/compile-cache");

// All parts of Hono that `src/` imports. They share symbols, so they all have to come from one copy.
const PREBUNDLED = [
  "@cfworker/json-schema",
  "@hono/zod-validator",
  "fast-check",
  "hono",
  "hono/hono-base",
  "hono/router/trie-router",
  "hono/route",
  "zod/mini",
];

/** Milliseconds for `expect.poll`: the machine may be busy. Playwright waits as long by itself. */
const PATIENCE = { poll: { timeout: 30_000 } };

/** The present statements, with those of tests, and the stand-in for drizzle, as in the bundle. */
const statements: Plugin = {
  name: "statements",
  enforce: "pre",
  resolveId: (source) => (source.startsWith("drizzle-orm") ? STAND_IN : undefined),
  load: async (id) =>
    id === STATEMENTS ? moduleOf(await textsOf(["src/index.ts", "test/changes/statements.ts"])) : undefined,
  // It changes with other files.
  configureVitest: ({ defineCacheKeyGenerator }) =>
    defineCacheKeyGenerator(({ id }) => (id === STATEMENTS ? false : null)),
};
const STAND_IN = join(import.meta.dirname, "src/db/stand-in.ts");

export default defineConfig({
  test: {
    // The service logs every request. The logs are shown only for failed tests.
    silent: "passed-only",
    // On a machine with two cores, Vitest 5.1.1 would use one, but many of these tests wait for other processes.
    maxWorkers: 3,
    projects: [
      {
        // Runs in workerd with the source, and with real D1, KV and rate limiter. Each file starts with empty storage:
        // test/support/migrate.ts.
        plugins: [
          statements,
          cloudflareTest(async () => ({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: { TEST_MIGRATIONS: await readD1Migrations("drizzle") },
              // No test reaches a network: a receiver that no test replaces is down.
              outboundService: () => new Response(null, { status: 502 }),
              ratelimits: { TIGHT_RATE_LIMITER: { namespace_id: "tight", simple: { limit: 2, period: 60 } } },
            },
          })),
        ],
        test: {
          name: "workerd",
          // Without the start of an isolate for each file.
          isolate: false,
          // Bundled into one module each, these load faster.
          deps: { optimizer: { ssr: { enabled: true, include: PREBUNDLED } } },
          include: ["test/**/*.test.ts"],
          exclude: ["built", "world", "load", "browser", "commands", "third-party", "languages"].map(
            (folder) => `test/${folder}/**`,
          ),
          setupFiles: ["test/support/migrate.ts"],
          // Milliseconds. These tests are fast, but the machine may be busy.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: PATIENCE,
        },
      },
      {
        // Runs against the production bundle, over real HTTP.
        test: {
          name: "built",
          // The files share their modules, so that each is loaded once. Each file starts a service of its own.
          isolate: false,
          include: ["test/built/**/*.test.ts"],
          globalSetup: "test/built/build.ts",
          // Milliseconds. Some of these send thousands of requests, which takes long on a busy machine.
          testTimeout: 300_000,
          hookTimeout: 120_000,
          expect: PATIENCE,
        },
      },
      {
        // The service, its storage and its clients in simulated worlds. npm run test:world runs more of them.
        test: {
          name: "world",
          include: ["test/world/**/*.test.ts"],
          testTimeout: 300_000,
        },
      },
      {
        // npm run test:load: longer tests of the bundle: the service under kills and hostile connections, and the client, the copy and
        // the examples behind a faulty proxy.
        test: {
          name: "load",
          include: ["test/load/**/*.test.ts"],
          globalSetup: ["test/built/build.ts", "test/built/pack.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        // npm run test:commands: the commands of developers and operators, each as a process or on its own storage.
        test: {
          name: "commands",
          include: ["test/commands/**/*.test.ts"],
          setupFiles: ["test/commands/setup.ts"],
          maxConcurrency: 2,
          testTimeout: 300_000,
          hookTimeout: 120_000,
          expect: PATIENCE,
        },
      },
      {
        // npm run test:browser: the documentation in Chromium, which has to be installed.
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/built/build.ts", "test/built/pack.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: PATIENCE,
        },
      },
      {
        // npm run test:third-party: tools of others against the bundle. It needs the packages of test/third-party.
        test: {
          name: "third-party",
          // Deno reads nothing under /dev without all permissions (its documentation, Security).
          env: { TMPDIR: DISK },
          include: ["test/third-party/**/*.test.ts"],
          globalSetup: ["test/built/build.ts", "test/built/pack.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        // npm run test:languages: clients in other languages, with Debian's packages.
        test: {
          name: "languages",
          include: ["test/languages/**/*.test.ts"],
          globalSetup: "test/built/build.ts",
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
