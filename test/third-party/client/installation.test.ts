import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type * as StandardWebhooks from "standardwebhooks";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../built/folder.ts";
import { serve } from "../../built/serve.ts";
import { useBuiltService } from "../../built/service.ts";

// Installs the client from a running service into an empty folder, with the command of the guide, and runs the guide's first program
// and the command of the package.

const GUIDE = readFileSync("client/README.md", "utf8");
const COMMAND = /^npm install https:\/\/petstore\.example(\/docs\/\S+)$/m;
const PROGRAM = /```ts\n(.+?)```/s;
/** Nothing responds there, so that nothing but the service gives a package. */
const NO_REGISTRY = "http://127.0.0.1:9";

const service = useBuiltService();
const folder = temporaryFolder();

const bin = (path: string) => join(import.meta.dirname, "../node_modules", path);

/** The names of all animals, and the number of orders. */
async function stock() {
  const { DB } = await service.worker.getEnv();
  const names = await DB.prepare("SELECT name FROM pets ORDER BY pets.id").raw();
  return { names: names.flat(), orders: await DB.prepare("SELECT count(*) AS n FROM orders").first<number>("n") };
}

// Promise: package-managers, served-package
test.each([
  ["npm", "npm", ["install", `--registry=${NO_REGISTRY}`], process.execPath, ["program.mts"]],
  [
    "npm for Deno",
    "npm",
    ["install", `--registry=${NO_REGISTRY}`],
    bin(".bin/deno"),
    ["run", "--allow-env", "--allow-net=127.0.0.1", "program.mts"],
  ],
  ["Bun", bin(".bin/bun"), ["add"], bin(".bin/bun"), ["program.mts"]],
])("the first program of the guide runs in an empty folder: %s", async (name, installer, options, runtime, args) => {
  const cwd = mkdtempSync(join(folder, `${name.replaceAll(" ", "-")}-`));
  const [, path = ""] = COMMAND.exec(GUIDE) ?? [];
  const run = (command: string, given: string[], env: Record<string, string>) =>
    promisify(execFile)(command, given, { cwd, env: { ...process.env, ...env } });
  await run(installer, [...options, `${service.url.origin}${path}`], {
    npm_config_cache: join(cwd, "cache"),
    BUN_CONFIG_REGISTRY: NO_REGISTRY,
  });
  writeFileSync(join(cwd, "program.mts"), PROGRAM.exec(GUIDE)?.[1] ?? "");
  const before = await stock();
  const { stdout } = await run(runtime, args, { BASE: `${service.url.origin}/v1`, KEY: service.key });
  expect(stdout).toMatch(/^\d+n Rex$/m);
  const after = await stock();
  expect(after).toEqual({ names: [...before.names, "Max"], orders: (before.orders ?? 0) + 1 });
});

// Promise: listen-installs-nothing, listen-signs
test("the command of the guide, of this package, forwards events that the library of Standard Webhooks verifies", async () => {
  const [, path = "", ...options] =
    /^\$ npx --package https:\/\/petstore\.example(\/docs\/\S+) petstore (listen) \\\n {4}(--base) \S+ (--forward-to) \S+$/m.exec(
      GUIDE,
    ) ?? [];
  const { Webhook } = createRequire(import.meta.url)("standardwebhooks") as typeof StandardWebhooks;
  let secret = "";
  const verified: unknown[] = [];
  const receiver = await serve(async (request, response) => {
    try {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      verified.push(new Webhook(secret).verify(await text(request), headers));
      response.writeHead(204).end();
    } catch {
      response.writeHead(400).end();
    }
  });
  // Deployments serve the package of the last release.
  const packages = await serve(({ url }, response) => response.end(url === path ? readFileSync(inject("client")) : ""));
  const [listen = "", base = "", forwardTo = ""] = options;
  const command = spawn(
    "npx",
    ["--yes", "--package", packages + path, "petstore", listen, base, `${service.url.origin}/v1`, forwardTo, receiver],
    {
      cwd: mkdtempSync(join(folder, "listen-")),
      env: {
        ...process.env,
        PATH: `${bin("node20/bin")}:${process.env["PATH"]}`,
        PETSTORE_API_KEY: service.key,
        npm_config_cache: join(folder, "cache"),
        npm_config_registry: NO_REGISTRY,
      },
      // In a group of its own, so that the test ends all of it.
      detached: true,
    },
  );
  onTestFinished(async () => {
    process.kill(-(command.pid ?? 0), "SIGKILL");
    await once(command, "close");
  });
  let output = "";
  for (const stream of [command.stdout, command.stderr]) stream.on("data", (part: Buffer) => (output += String(part)));
  await vi.waitFor(() => expect(output).toMatch(/^Forwarding what follows /m), 60_000);
  secret = /^The secret is (\S+)$/m.exec(output)?.[1] ?? "";

  const headers = { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name: "Zoë 🐕", categoryId: 7 });
  expect((await fetch(`${service.url.origin}/v1/pets`, { method: "POST", headers, body })).status).toBe(201);
  await vi.waitFor(() => expect(output).toMatch(/^204 pet\.created evt_/m), 60_000);
  expect(verified).toMatchObject([{ type: "pet.created", data: { name: "Zoë 🐕" } }]);
});
