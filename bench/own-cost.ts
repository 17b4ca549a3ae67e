// What the Workers themselves cost: CPU of a request, and a start. Candidates are interleaved: whatever else the machine does meets all
// of them alike.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Load } from "./load.ts";
import type { Prepared } from "./prepare.ts";
import { requestsOf } from "./requests.ts";
import { Server } from "./server.ts";

/** Of CPU measurement for each candidate, without the time to warm up. */
const SECONDS = 7;
/** Requests of a round. Few, so that many rounds are undisturbed on a machine that others use too. */
const ROUND = 200;
/** Before each round, so that it pays for nothing that another process left in the caches and queues of the machine. */
const LEAD_IN = 100;
/** Of each kind. V8 needs some ten thousand until it has compiled for the last time. */
const WARM_UP = 2_000;
/** Enough to keep workerd busy: a thread that goes to sleep between two requests costs more than many a Worker. */
const CONNECTIONS = 16;
const STARTS = 20;
/** Where workerd starts, if this machine has taskset: V8 would compile on as many cores as there are. */
const CORE = lastCore();
const PLACE = CORE === undefined ? "on any core, because this machine has no taskset" : "on one core";

/** How these figures came about. */
export const OWN_COST_METHOD = `CPU: rounds of ${ROUND} requests over ${CONNECTIONS} connections, after ${WARM_UP.toLocaleString("en")} of each kind to warm up.
Start: ${STARTS} times, ${PLACE}, from the start of the process to the end of its first response, a list of 20.
The candidates take turns in random order.`;

export interface OwnCost {
  candidate: Prepared;
  /** Microseconds a request, of the whole process, user and system: for each request of `requestsOf`, one figure a round. */
  cpu: number[][];
  /** Milliseconds of each start: workerd itself, the Worker's top level, and what the first request compiles. */
  starts: number[];
  /** Milliseconds of CPU of each start. Other programs on the machine disturb it less than the time. */
  startCpu: number[];
}

export async function measureOwnCosts(candidates: Prepared[]): Promise<OwnCost[]> {
  const costs = candidates.map((candidate) => ({ candidate, cpu: [] as number[][], starts: [], startCpu: [] }));
  await measureCpu(costs);
  await measureStarts(costs);
  return costs;
}

async function measureCpu(costs: OwnCost[]): Promise<void> {
  await using running = new AsyncDisposableStack();
  const measured = [];
  for (const { candidate, cpu } of costs) {
    const server = running.use(await Server.start(candidate));
    for (const [index, request] of requestsOf(candidate).entries()) {
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(request, WARM_UP);
      measured.push({ server, request, rounds: (cpu[index] = []) as number[] });
    }
  }
  const end = performance.now() + SECONDS * costs.length * 1_000;
  while (performance.now() < end) {
    for (const { server, request, rounds } of shuffle(measured)) {
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(request, LEAD_IN);
      const before = server.cpuMicroseconds();
      await load.repeat(request, ROUND);
      rounds.push((server.cpuMicroseconds() - before) / ROUND);
    }
  }
}

async function measureStarts(costs: OwnCost[]): Promise<void> {
  for (let round = 0; round < STARTS; round++) {
    for (const { candidate, starts, startCpu } of shuffle(costs)) {
      const began = performance.now();
      await using server = await Server.start(candidate, CORE);
      starts.push(performance.now() - began);
      startCpu.push(server.cpuMicroseconds() / 1_000);
    }
  }
}

/** In a new order: nobody always runs behind the same other. */
function shuffle<T>(items: T[]): T[] {
  const ranked = items.map((item) => ({ item, rank: Math.random() }));
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** Of those that this process may use, or undefined when there is no way to keep a process on it. */
function lastCore(): string | undefined {
  const core = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return core !== undefined && spawnSync("taskset", ["--cpu-list", core, "true"]).status === 0 ? core : undefined;
}
