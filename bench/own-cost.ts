// What a Worker itself costs: CPU and start-up, in workerd with nothing in front of it and bindings stubbed in JavaScript.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Candidate } from "./candidates.ts";
import { type BenchRequest, connections, KEY_NAME, KEY_RECORD, LIST, repeat, send } from "./requests.ts";

/** Many short rounds: on a machine that others use too, the ratio of neighbours in time is what can be relied on. */
const ROUNDS = 90;
const REQUESTS = 200;
/** Before each round, so that it pays for nothing that another process left in the caches and queues of the machine. */
const LEAD_IN = 50;
/** Of each kind. V8 needs some ten thousand until it has compiled for the last time. */
const WARM_UP = 3_000;
/** Enough to keep workerd busy: a thread that goes to sleep between two requests costs more than many a Worker. */
const CONNECTIONS = 16;
const STARTS = 15;

export const METHOD = `CPU: ${ROUNDS} rounds of ${REQUESTS} requests after ${WARM_UP} to warm up, ${CONNECTIONS} connections; start-up: ${STARTS} starts`;

export interface OwnCost {
  candidate: Candidate;
  /** Microseconds of CPU a request: for each kind of request, one figure a round. */
  cpu: number[][];
  /** Milliseconds from the start of the process to the end of its first answer. */
  starts: number[];
}

/** Measures candidates, interleaved: whatever else the machine does meets all of them alike. */
export async function measureOwnCost(
  candidates: Candidate[],
  requests: BenchRequest[],
  folder: string,
  rounds = ROUNDS,
): Promise<OwnCost[]> {
  for (const candidate of candidates) writeConfig(candidate, folder);
  const servers = await Promise.all(candidates.map((candidate) => Server.start(candidate, folder)));
  // [candidate][request][round]
  const cpu = candidates.map(() => requests.map((): number[] => []));
  const agents = candidates.map(() => connections(CONNECTIONS));
  const loads = servers.map((server, c) => ({ server, agent: agents[c] ?? connections(CONNECTIONS) }));
  for (const { server, agent } of loads) {
    for (const request of requests) await repeat(agent, server.port, request, WARM_UP);
  }
  for (let round = 0; round < rounds; round++) {
    for (const [r, request] of requests.entries()) {
      for (const [c, { server, agent }] of shuffle([...loads.entries()])) {
        await repeat(agent, server.port, request, LEAD_IN);
        const before = server.cpuMicroseconds();
        await repeat(agent, server.port, request, REQUESTS);
        cpu[c]?.[r]?.push((server.cpuMicroseconds() - before) / REQUESTS);
      }
    }
  }
  for (const agent of agents) agent.destroy();
  await Promise.all(servers.map((server) => server.stop()));

  const starts = candidates.map((): number[] => []);
  for (let round = 0; round < STARTS; round++) {
    for (const [c, candidate] of candidates.entries()) {
      const began = performance.now();
      const server = await Server.start(candidate, folder);
      starts[c]?.push(performance.now() - began);
      await server.stop();
    }
  }

  return candidates.map((candidate, c) => ({ candidate, cpu: cpu[c] ?? [], starts: starts[c] ?? [] }));
}

/** A new order: nobody always runs behind the same other. */
function shuffle<T>(items: T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

function directoryOf({ name }: Candidate, folder: string): string {
  return join(folder, name.replaceAll(" ", "-"));
}

function writeConfig(candidate: Candidate, folder: string): void {
  const directory = directoryOf(candidate, folder);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "worker.js"), candidate.script);
  const stubs = readFileSync(join(import.meta.dirname, "stub.js"), "utf8");
  writeFileSync(
    join(directory, "stub.js"),
    stubs.replace("KEY_NAME_HERE", KEY_NAME).replace('"KEY_RECORD_HERE"', JSON.stringify(KEY_RECORD)),
  );
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
}

export const WORKERD = join(import.meta.dirname, "../node_modules/workerd/bin/workerd");

class Server {
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(port: number, process: ChildProcess) {
    this.port = port;
    this.#process = process;
  }

  /** Starts workerd, and returns when it gave its first answer. */
  static async start(candidate: Candidate, folder: string): Promise<Server> {
    const port = await freePort();
    const config = join(directoryOf(candidate, folder), "config.capnp");
    const child = spawn(WORKERD, ["serve", config, `--socket-addr=http=127.0.0.1:${port}`], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const deadline = performance.now() + 20_000;
    for (;;) {
      try {
        await send(connections(1), port, LIST);
        return new Server(port, child);
      } catch (error) {
        if (performance.now() > deadline || child.exitCode !== null) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  /** CPU time of the process, user and system, over all its threads: the first field of schedstat is nanoseconds on the CPU. */
  cpuMicroseconds(): number {
    const tasks = `/proc/${this.#process.pid}/task`;
    const nanoseconds = readdirSync(tasks).map((task) =>
      Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
    );
    return nanoseconds.reduce((sum, value) => sum + value, 0) / 1_000;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
