import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { atRandom, type ChaosProxy, startChaosProxy } from "../../load/chaos/proxy.ts";
import { link, newProject } from "../../built/project.ts";
import { useBuiltService } from "../../built/service.ts";

// Tests the packed client, installed in a client project, in every supported runtime except the browser (test/browser) and workerd, in which
// test/load/shops.test.ts runs a shop.

const ANIMALS = 450;

const service = useBuiltService();
let proxy: ChaosProxy;
const project = newProject();
beforeAll(async () => {
  // Three requests in ten fail in one of thirteen ways.
  proxy = await startChaosProxy(service.url, atRandom(0.3), 1_000);
  link(project, "csv-parse");
  symlinkSync(bin("ws"), join(project, "node_modules/ws"));
  copyFileSync("examples/import.mjs", join(project, "import.mjs"));
});
afterAll(() => proxy.close());

const bin = (path: string) => join(import.meta.dirname, "../node_modules", path);

/** The commands that run a program. Deno gets only the permissions that the program needs. */
const RUNTIMES: Record<string, [command: string, ...args: string[]]> = {
  "Node.js 20": [bin("node20/bin/node")],
  "Node.js 24": [process.execPath],
  Deno: [
    bin(".bin/deno"),
    "run",
    "--no-prompt",
    "--allow-env",
    "--allow-net=127.0.0.1",
    "--allow-read=.",
    "--allow-write=.",
  ],
  Bun: [bin(".bin/bun")],
};

// Promise: package-managers, runtimes
test.each(Object.entries(RUNTIMES))(
  "the program that imports animals creates each once, in order, through a faulty proxy: %s",
  async (_name, [command, ...options]) => {
    const { DB } = await service.worker.getEnv();
    await DB.prepare("DELETE FROM pets").run();
    const FILE = `${crypto.randomUUID()}.csv`;
    const names = Array.from({ length: ANIMALS }, (_, index) => `"Animal", ${index + 1}`);
    const rows = names.map(
      (name, index) => `SKU-${index},"${name.replaceAll('"', '""')}",${2n ** 62n + BigInt(index + 1)}`,
    );
    writeFileSync(join(project, FILE), `externalId,name,categoryId\r\n${rows.join("\r\n")}\r\n`);
    const env = { ...process.env, BASE: `${proxy.url.origin}/v1`, KEY: service.key };
    const run = (FILE: string) =>
      promisify(execFile)(command, [...options, "import.mjs"], { cwd: project, env: { ...env, FILE } });
    const { stdout } = await run(FILE);

    const created = await DB.prepare("SELECT id, name FROM pets ORDER BY pets.id").all<{ id: number; name: string }>();
    expect(created.results.map(({ name }) => name)).toEqual(names);
    const lines = created.results.map(({ id, name }, index) => `SKU-${index}: ${id} ${name}`);
    // A batch whose response was lost is unchanged when it is sent again.
    const printed = new Set(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.replace("created ", "")),
    );
    expect(lines.filter((line) => printed.has(line))).toHaveLength(printed.size);
    // A mistake in the middle of a file is named. `pipeline` of Node.js 20 and Deno would hide it behind an AbortError.
    writeFileSync(join(project, FILE), `externalId,name,categoryId\r\nSKU-1,Rex,one\r\n${rows.join("\r\n")}`);
    const stderr = expect.stringContaining("one is not an exact 64-bit integer");
    await expect(run(FILE)).rejects.toMatchObject({ stderr });
  },
);

// Promise: follow-live, live-in-node-20
test.each([
  ["Node.js 20", ""],
  ["Node.js 20", "ws"],
  ["Node.js 24", ""],
  ["Deno", ""],
  ["Bun", ""],
])("the live feed has each event once: %s %s", async (runtime, sockets) => {
  writeFileSync(
    join(project, "live.mjs"),
    `import { PetStore } from "@petstore/client";
    ${sockets && `import { WebSocket } from "ws";`}
    const { BASE: baseUrl, KEY: apiKey } = process.env;
    const told = [];
    const onAttempt = ({ operation, status }) => operation === "followLive" && told.push(status);
    const store = new PetStore({ baseUrl, apiKey, onAttempt${sockets && ", WebSocket"} });
    const names = [];
    const feed = store.events.follow({ live: true, cursor: "latest", types: ["pet.created"], idle: () => 100 });
    for await (const { events } of feed) {
      names.push(...events.map(({ data }) => data.name));
      if (names.length === 3) break;
      await store.pets.create({ name: String(names.length), categoryId: 1 });
    }
    console.log(names.join(), told.join());`,
  );
  const env = { ...process.env, BASE: `${service.url.origin}/v1`, KEY: service.key };
  const [command, ...options] = RUNTIMES[runtime] ?? expect.unreachable();
  const { stdout } = await promisify(execFile)(command, [...options, "live.mjs"], { cwd: project, env });
  expect(stdout).toBe(`0,1,2 ${runtime === "Node.js 20" && sockets === "" ? "" : "101"}\n`);
});

// Promise: commonjs
test.each(["Node.js 20", "Node.js 24"])("CommonJS loads it: %s", async (runtime) => {
  writeFileSync(
    join(project, "program.cjs"),
    `const { PetStore } = require("@petstore/client");
    import("@petstore/client").then((client) => console.log(client.PetStore === PetStore));`,
  );
  const [command] = RUNTIMES[runtime] ?? expect.unreachable();
  const { stdout } = await promisify(execFile)(command, ["program.cjs"], { cwd: project });
  expect(stdout).toBe("true\n");
});

// Promise: tanstack-query
test("the query of the README works in TanStack Query, and a bigint in its key would not", async () => {
  mkdirSync(join(project, "node_modules/@tanstack"), { recursive: true });
  symlinkSync(bin("@tanstack/query-core"), join(project, "node_modules/@tanstack/query-core"));
  const readme = readFileSync(join(project, "node_modules/@petstore/client/README.md"), "utf8");
  const [query = ""] = /const animalQuery = .+?\n}\);/s.exec(readme) ?? [];
  writeFileSync(
    join(project, "query.ts"),
    `import { PetStore } from "@petstore/client";
    import { QueryClient } from "@tanstack/query-core";
    const { BASE: baseUrl = "", KEY: apiKey = "" } = process.env;
    const store = new PetStore({ baseUrl, apiKey });
    ${query}
    const client = new QueryClient();
    const { animal } = await store.pets.create({ name: "Rex", categoryId: 2n ** 62n + 1n });
    const found = await client.fetchQuery({ ...animalQuery(animal.id), staleTime: Infinity });
    await store.pets.delete(animal.id);
    const cached = await client.fetchQuery({ ...animalQuery(animal.id), staleTime: Infinity });
    const missing = await client.fetchQuery(animalQuery(2n ** 63n - 1n));
    const ask = async () => client.fetchQuery({ ...animalQuery(1n), queryKey: [1n] });
    const refused = await ask().catch((error) => error.name);
    console.log(found?.categoryId, cached === found, missing, refused);`,
  );
  const env = { ...process.env, BASE: `${service.url.origin}/v1`, KEY: service.key };
  const { stdout } = await promisify(execFile)(process.execPath, ["query.ts"], { cwd: project, env });
  expect(stdout).toBe("4611686018427387905n true null TypeError\n");
});

// Promise: follow-live
test("a Worker follows the live feed", async () => {
  const contents = `
    import { PetStore } from "@petstore/client";
    export default {
      async fetch(_request, { baseUrl, apiKey }) {
        const told = [];
        const onAttempt = ({ operation, status }) => told.push([operation, status].join());
        const store = new PetStore({ baseUrl, apiKey, onAttempt });
        for await (const { events: [event] } of store.events.follow({ live: true, cursor: "latest" })) {
          if (event) break;
          await store.pets.create({ name: "Rex", categoryId: 1 });
        }
        return new Response(told.join(" "));
      },
    };`;
  const bundle = { stdin: { contents, resolveDir: project }, bundle: true, format: "esm", write: false } as const;
  const script = (await build(bundle)).outputFiles[0]?.text ?? "";
  const bindings = { baseUrl: `${service.url.origin}/v1`, apiKey: service.key };
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({ modules: true, script, bindings, compatibilityDate: "2026-01-01" }),
  );
  onTestFinished(() => miniflare.dispose());
  const response = await miniflare.dispatchFetch("http://shop.test/");
  expect(await response.text()).toBe("listEvents,200 createPet,201 followLive,101");
});
