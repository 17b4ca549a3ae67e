import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { readPackages } from "../../openapi/packages.ts";
import { openNamespace } from "../../ops/keys/namespace.ts";
import { joinStorage } from "../../scripts/same-storage.ts";
import { runWrangler } from "../../scripts/wrangler.ts";
import { temporaryFolder } from "../built/folder.ts";
import { type DevService, killGroup, startDev } from "./dev-service.ts";
import { runKeys } from "./keys.ts";

// Starts several `npm run dev` on one folder of local state.

const state = temporaryFolder();
let first: DevService;
beforeAll(async () => {
  first = await start();
}, 300_000);
afterAll(() => started.forEach(killGroup));

const started: ChildProcess[] = [];

/** Starts one on the shared state and waits for the last line of its welcome. */
async function start(): Promise<DevService> {
  const service = await startDev(state);
  started.push(service.process);
  return service;
}

/** Its standard error before it exits with 1. */
function failureOf(...args: string[]): string {
  const command = ["scripts/dev.ts", ...args, "--persist-to", state];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
  expect(status).toBe(1);
  return stderr;
}

async function listNames({ base, key }: DevService): Promise<string[]> {
  const response = await fetch(`${base}/pets`, { headers: { Authorization: `Bearer ${key}` } });
  expect(response.status).toBe(200);
  return ((await response.json()) as { name: string }[]).map(({ name }) => name);
}

test("prints the addresses of the service, its documentation and its console", async () => {
  expect(await listNames(first)).toHaveLength(5);
  expect(first.output).not.toContain("Another npm run dev");
  const [, pages = ""] = /documentation is at (\S+)/.exec(first.output) ?? [];
  const response = await fetch(pages);
  expect({ status: response.status, url: response.url }).toEqual({ status: 200, url: pages });
  expect(await response.text()).toContain("<title>Start");
  const [, console_ = ""] = /console is at (\S+)/.exec(first.output) ?? [];
  expect(await (await fetch(console_)).text()).toContain(`data-environment="local" data-key="${first.key}"`);
});

// Promise: served-package
test("serves the released packages of the client", async () => {
  for (const { file, sha256 } of readPackages()) {
    const response = await fetch(new URL(`/docs/${file}`, first.base));
    const digest = createHash("sha256").update(Buffer.from(await response.arrayBuffer()));
    expect([response.status, digest.digest("hex")]).toEqual([200, sha256]);
  }
});

test.skipIf(spawnSync("curl", ["--version"]).status !== 0)("prints lines to paste", () => {
  const [lines = ""] = /^BASE=[^]*/m.exec(first.output) ?? [];
  const pasted = `${lines.trim()} --silent --show-error`;
  const animals = JSON.parse(execFileSync("sh", ["-c", pasted], { encoding: "utf8" }));
  expect(animals).toHaveLength(5);
});

test("accepts keys that are created and rotated while it runs", async () => {
  const local = await openNamespace("local", () => {}, state);
  onTestFinished(() => local.close());
  const keys = async (...args: string[]): Promise<{ id: string; key: string }> =>
    JSON.parse((await runKeys(local, [...args, "--env", "local", "--json"])).stdout);
  const old = await keys("create", "--name", "shop", "--scopes", "pets:read");
  expect(await listNames({ ...first, key: old.key })).toHaveLength(5);
  const rotated = await keys("rotate", old.id, "--overlap", "1h");
  for (const { key } of [old, rotated]) expect(await listNames({ ...first, key })).toHaveLength(5);
});

test("applies all migrations, so that wrangler finds none", async () => {
  const target = ["DB", "--env=", "--local", "--persist-to", state];
  expect(await runWrangler(["d1", "migrations", "list", ...target])).toContain("No migrations to apply");
});

test("names the other process on the same storage, and serves as well", async () => {
  const [second, third] = await Promise.all([start(), start()]);
  const names = ({ output }: DevService, { base }: DevService) =>
    output.includes(`Another npm run dev (${new URL(base).origin}) uses the same storage`);
  expect([names(second, first), names(third, first)]).toEqual([true, true]);
  expect(names(second, third)).toBe(!names(third, second));
  const created = await fetch(`${first.base}/pets`, {
    method: "POST",
    headers: { Authorization: `Bearer ${first.key}`, "Content-Type": "application/json" },
    body: '{"name":"Otto the Otter","categoryId":1}',
  });
  expect(created.status).toBe(201);
  expect(await listNames(second)).toContain("Otto the Otter");

  for (const { process, base } of [second, third]) {
    process.kill("SIGTERM");
    expect(await once(process, "exit")).toEqual([143, null]);
    await expect(fetch(base)).rejects.toThrow("fetch failed");
  }
  expect(readdirSync(join(state, "dev"))).toHaveLength(1);
});

test("of three that start in the same millisecond, each waits for the earlier ones", async () => {
  const folder = temporaryFolder();
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  // The second one finds one that starts, the third one two.
  const hasFoundAll = vi.waitFor(() => expect(log).toHaveBeenCalledTimes(3), { timeout: 20_000 });
  const addresses: number[] = [];
  const start = async () => {
    const { neighbours, serveAt } = await joinStorage(folder);
    addresses.push(neighbours.filter(({ address }) => address !== undefined).length);
    await hasFoundAll;
    serveAt("http://localhost:8787");
  };
  await Promise.all([start(), start(), start()]);
  expect(addresses).toEqual([0, 1, 2]);
});

test("ignores a process that was killed", async () => {
  killGroup(first.process);
  await once(first.process, "exit");
  expect(readdirSync(join(state, "dev"))).toHaveLength(1);
  const next = await start();
  expect(next.output).not.toContain("Another npm run dev");
  expect(readdirSync(join(state, "dev"))).toHaveLength(1);
  expect(await listNames(next)).toContain("Otto the Otter");
});

test.each(["SIGTERM", "SIGKILL"] as const)("ends with npm, after %s", async (signal) => {
  const npm = spawn("npm", ["run", "dev", "--", "--port", "0", "--persist-to", state], { detached: true });
  started.push(npm);
  const { base } = await startDev(state, npm);
  npm.kill(signal);
  const isServing = () =>
    fetch(base).then(
      () => true,
      () => false,
    );
  await expect.poll(isServing, { timeout: 20_000 }).toBe(false);
});

/** Has a program find that each port which it looked at is taken right afterwards. */
const TAKE = `
  import { createServer, Server } from "node:net";
  const { listen } = Server.prototype;
  Server.prototype.listen = function (...args) {
    const { port, host } = args[0] ?? {};
    if (port) this.once("close", () => listen.call(createServer(), { port, host: host ?? "127.0.0.1" }).unref());
    return listen.apply(this, args);
  };`;

test("starts on a free port while others take the ports of wrangler", async () => {
  const take = ["--import", `data:text/javascript,${encodeURIComponent(TAKE)}`];
  const child = spawn(process.execPath, [...take, "scripts/dev.ts", "--port", "0", "--persist-to", state], {
    detached: true,
  });
  started.push(child);
  expect(await listNames(await startDev(state, child))).toContain("Ada the Alpaca");
  killGroup(child);
});

test("refuses a port that is in use", async () => {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  expect(failureOf("--port", String(port))).toMatch(new RegExp(`^Port ${port} is in use\\.`));
  server.close();
});

test.each([
  [["--env", "staging"], /^npm run dev is local development; it takes no --env\.\n$/],
  [["-e", "production"], /^npm run dev is local development; it takes no --env\.\n$/],
  [["--port", "http"], /^A port is a number from 1 to 65535, or 0 for any free one\.\n$/],
  [["--port", "65536"], /^A port is a number from 1 to 65535, or 0 for any free one\.\n$/],
  [["--prot", "9000"], /^Unknown option '--prot'\nUsage: npm run dev -- \[--port/],
  [["9000"], /^Unexpected argument '9000'\./],
])("%j is refused at once", (args, message) => {
  expect(failureOf(...args)).toMatch(message);
});
