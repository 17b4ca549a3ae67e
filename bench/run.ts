// npm run bench: the production bundle beside baselines, in the same run and the same workerd, with stub bindings (bench/stub.js).
// Prints tables, and writes bench/results.md and bench/results.svg. Takes some minutes; talks to 127.0.0.1 only.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { createServer } from "node:net";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { generateKey } from "../src/auth/key-format.ts";
import { buildBundle } from "../scripts/wrangler.ts";
import { writeReport } from "./report.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 7);
/** All of them, unless some are named: BENCH_BASELINES=hand-written. */
const BASELINES = (process.env["BENCH_BASELINES"] ?? "hand-written,tutorial,chanfana,zod-openapi").split(",");
const WARM_UP = 1_500;
const REQUESTS = 3_000;
const CONNECTIONS = 4;
const STARTS = 9;
/** Clock ticks of /proc/<pid>/stat in a second (sysconf(_SC_CLK_TCK), 100 on every Linux that Node runs on). */
const TICKS_PER_SECOND = 100;

const ROOT = join(import.meta.dirname, "..");
const WORKERD = join(ROOT, "node_modules/workerd/bin/workerd");
const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
const key = generateKey("production");
const unknownKey = generateKey("production");

interface Candidate {
  name: string;
  bundle: string;
  gzip: number;
}
interface Scenario {
  name: string;
  method: string;
  path: string;
  key: string;
  body?: string;
  status: number;
}

const SCENARIOS: Scenario[] = [
  { name: "list 20", method: "GET", path: "/v1/pets", key, status: 200 },
  { name: "list 100", method: "GET", path: "/v1/pets?limit=100", key, status: 200 },
  {
    name: "create",
    method: "POST",
    path: "/v1/pets",
    key,
    body: '{"name":"Rex","categoryId":7,"status":"pending"}',
    status: 201,
  },
  { name: "get", method: "GET", path: "/v1/pets/1", key, status: 200 },
  { name: "401", method: "GET", path: "/v1/pets", key: unknownKey, status: 401 },
  { name: "400", method: "GET", path: "/v1/pets?limit=0", key, status: 400 },
];

try {
  const candidates = await buildAll();
  const servers = [];
  for (const candidate of candidates) servers.push({ candidate, server: await start(candidate) });

  const cpu = new Map<string, number[]>();
  const sample = (scenario: Scenario, candidate: Candidate) => `${scenario.name} ${candidate.name}`;
  for (const scenario of SCENARIOS) {
    for (const { server } of servers) await load(server.port, scenario, WARM_UP);
    // Interleaved: whatever else the machine does meets all of them alike.
    for (let round = 0; round < ROUNDS; round++) {
      for (const { candidate, server } of servers) {
        const before = cpuSeconds(server.pid);
        await load(server.port, scenario, REQUESTS);
        const microseconds = ((cpuSeconds(server.pid) - before) * 1e6) / REQUESTS;
        const name = sample(scenario, candidate);
        cpu.set(name, [...(cpu.get(name) ?? []), microseconds]);
      }
    }
    console.log(
      scenario.name,
      servers
        .map(({ candidate }) => `${candidate.name} ${median(cpu.get(sample(scenario, candidate)) ?? []).toFixed(0)}`)
        .join(" · "),
    );
  }
  for (const { server } of servers) await stop(server);

  const starts = new Map<string, number[]>();
  for (let round = 0; round < STARTS; round++) {
    for (const candidate of candidates) {
      const began = performance.now();
      const server = await start(candidate);
      starts.set(candidate.name, [...(starts.get(candidate.name) ?? []), performance.now() - began]);
      await stop(server);
    }
  }

  writeReport({
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Linux`,
    versions: `Node ${process.versions.node}, ${execFileSync(WORKERD, ["--version"], { encoding: "utf8" }).trim()}`,
    method: `${ROUNDS} interleaved rounds of ${REQUESTS} requests after ${WARM_UP} to warm up, ${CONNECTIONS} connections`,
    scenarios: SCENARIOS.map(({ name }) => name),
    candidates: candidates.map((candidate) => ({
      name: candidate.name,
      gzip: candidate.gzip,
      start: quartiles(starts.get(candidate.name) ?? []),
      cpu: SCENARIOS.map((scenario) => quartiles(cpu.get(sample(scenario, candidate)) ?? [])),
    })),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The bundles, each as `wrangler deploy` would make it: minified ESM for workerd. */
async function buildAll(): Promise<Candidate[]> {
  if (!existsSync(join(ROOT, "bench/node_modules"))) {
    execFileSync("npm", ["ci"], { cwd: join(ROOT, "bench"), stdio: "inherit" });
  }
  const { build } = await import("esbuild");
  const ours = readFileSync(join(ROOT, await buildBundle("production"), "index.js"));
  const found = [{ name: "this service", bundle: ours }];
  for (const name of BASELINES) {
    const { outputFiles } = await build({
      entryPoints: [join(ROOT, `bench/baselines/${name}.ts`)],
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2024",
      conditions: ["workerd", "worker", "browser"],
      write: false,
    });
    found.push({ name, bundle: Buffer.from(outputFiles[0]?.contents ?? []) });
  }
  const stub = readFileSync(join(ROOT, "bench/stub.js"), "utf8").replace(
    "KEY_HASH",
    createHash("sha256").update(key).digest("hex"),
  );
  return found.map(({ name, bundle }) => {
    const directory = join(folder, name.replace(" ", "-"));
    mkdirSync(directory);
    writeFileSync(join(directory, "worker.js"), bundle);
    writeFileSync(join(directory, "stub.js"), stub);
    writeFileSync(
      join(directory, "config.capnp"),
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "stub.js", esModule = embed "stub.js"), (name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-20"
);
`,
    );
    return { name, bundle: directory, gzip: gzipSync(bundle).length };
  });
}

interface Server {
  process: ChildProcess;
  pid: number;
  port: number;
}

/** Starts workerd, and returns when it gave its first answer. */
async function start({ bundle }: Candidate): Promise<Server> {
  const port = await freePort();
  const child = spawn(WORKERD, ["serve", join(bundle, "config.capnp"), `--socket-addr=http=127.0.0.1:${port}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const server = { process: child, pid: child.pid ?? 0, port };
  const [scenario] = SCENARIOS;
  const deadline = performance.now() + 20_000;
  for (;;) {
    try {
      if (scenario) await send(new Agent(), port, scenario);
      return server;
    } catch (error) {
      if (performance.now() > deadline || child.exitCode !== null) throw error;
    }
  }
}

async function stop({ process: child }: Server): Promise<void> {
  const ended = new Promise((resolve) => {
    child.once("exit", resolve);
  });
  child.kill("SIGKILL");
  await ended;
}

async function load(port: number, scenario: Scenario, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let left = count;
  const worker = async () => {
    while (left-- > 0) await send(agent, port, scenario);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  agent.destroy();
}

function send(agent: Agent, port: number, { name, method, path, key: token, body, status }: Scenario): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    };
    const outgoing = httpRequest({ agent, port, host: "127.0.0.1", method, path, headers }, (response) => {
      response.resume().on("end", () => {
        if (response.statusCode === status) resolve();
        else reject(new Error(`${name}: ${response.statusCode} instead of ${status}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** User and system time of a process and its threads, from proc(5). */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

function median(values: number[]): number {
  return quartiles(values).median;
}

function quartiles(values: number[]): { low: number; median: number; high: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { low: at(0.25), median: at(0.5), high: at(0.75) };
}
