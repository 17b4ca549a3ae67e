import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BuiltService, startBuiltService } from "../../built/service.ts";

// Installs the client from a running service into an empty folder, with the command of the guide, and runs the guide's first program.

const GUIDE = readFileSync("client/README.md", "utf8");
const COMMAND = /^npm install https:\/\/petstore\.example(\/docs\/\S+)$/m;
const PROGRAM = /```ts\n(.+?)```/s;
/** Nothing responds there, so that nothing but the service gives a package. */
const NO_REGISTRY = "http://127.0.0.1:9";

let service: BuiltService;
let folder: string;
beforeAll(async () => {
  service = await startBuiltService();
  folder = mkdtempSync(join(tmpdir(), "petstore-shop-"));
});
afterAll(async () => {
  await service.harness.close();
  rmSync(folder, { recursive: true });
});

const bin = (path: string) => join(import.meta.dirname, "../node_modules", path);

/** The names of all animals, and the number of orders. */
async function stock(): Promise<{ names: string[]; orders: number }> {
  const get = async (path: string): Promise<{ name: string }[]> => {
    const headers = { Authorization: `Bearer ${service.key}` };
    return (await fetch(`${service.url.origin}/v1${path}`, { headers })).json() as Promise<{ name: string }[]>;
  };
  const [animals, orders] = [await get("/pets?limit=100"), await get("/store/orders?limit=100")];
  return { names: animals.map(({ name }) => name), orders: orders.length };
}

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
  expect(after).toEqual({ names: [...before.names, "Max"], orders: before.orders + 1 });
});
