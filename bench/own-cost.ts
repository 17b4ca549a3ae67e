// Measures the cost of the Workers themselves: the CPU time of a request, and a start. Candidates are interleaved, so that other
// load on the machine affects all of them equally.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Load } from "./load.ts";
import type { Prepared } from "./prepare.ts";
import { LIST, requestsOf } from "./requests.ts";
import { Server } from "./server.ts";

/** Seconds of CPU measurement for each candidate by default, without the warm-up. */
export const SECONDS = 10;
/** Requests per round. Few, so that many rounds are undisturbed on a shared machine. */
const ROUND = 200;
/** Requests before each round, so that it does not pay for the caches and queues that another process left. */
const LEAD_IN = 100;
/** Warm-up requests of each kind. V8 finishes compiling after some ten thousand. */
const WARM_UP = 2_000;
/** Enough connections to keep workerd busy. A thread that sleeps between two requests costs more than many Workers. */
const CONNECTIONS = 16;
/** For each second of CPU measurement. */
const STARTS = 2;
/** The core for starts, if this machine has taskset. Otherwise V8 would compile on all cores. */
const CORE = lastCore();
const PLACE = CORE === undefined ? "on any core, because this machine has no taskset" : "on one core";

/** A description of the method. */
export const OWN_COST_METHOD = `CPU: rounds of ${ROUND} requests over ${CONNECTIONS} connections, after ${WARM_UP.toLocaleString("en")} of each kind to warm up.
Start: ${STARTS} times for each second of CPU measurement, ${PLACE}, from the start of the process to the end of its first response, a list of 20.
The candidates take turns in random order.`;

export interface OwnCost {
  candidate: Prepared;
  /**
   * Microseconds of CPU time per request, user and system, of the whole process: for each request of `requestsOf`, one figure per
   * round.
   */
  cpu: number[][];
  /** Milliseconds of each start: workerd itself, the Worker's top level, and what the first request compiles. */
  starts: number[];
  /** Milliseconds of CPU of each start. Other programs on the machine disturb it less than the time. */
  startCpu: number[];
}

/** @param seconds of CPU measurement for each candidate. */
export async function measureOwnCosts(candidates: Prepared[], seconds: number): Promise<OwnCost[]> {
  const costs = candidates.map((candidate) => ({ candidate, cpu: [] as number[][], starts: [], startCpu: [] }));
  await measureCpu(costs, seconds);
  await measureStarts(costs, seconds * STARTS);
  return costs;
}

async function measureCpu(costs: OwnCost[], seconds: number): Promise<void> {
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
  const end = performance.now() + seconds * costs.length * 1_000;
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

async function measureStarts(costs: OwnCost[], times: number): Promise<void> {
  for (let round = 0; round < times; round++) {
    for (const { candidate, starts, startCpu } of shuffle(costs)) {
      const began = performance.now();
      await using server = await Server.start(candidate, CORE);
      starts.push(performance.now() - began);
      startCpu.push(server.cpuMicroseconds() / 1_000);
    }
  }
}

/** Lists before the memory is read. */
const LISTS = 60_000;
const MEMORY_SAMPLES = 5;

/** Lines with the memory of each candidate after many lists, in a new process for each sample. */
export async function measureMemory(candidates: Prepared[]): Promise<string> {
  const samples = candidates.map((candidate) => ({ candidate, mebibytes: [] as number[] }));
  for (let sample = 0; sample < MEMORY_SAMPLES; sample++) {
    for (const { candidate, mebibytes } of shuffle(samples)) {
      await using server = await Server.start(candidate);
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(LIST, LISTS);
      mebibytes.push(server.residentBytes() / 2 ** 20);
    }
  }
  const lines = samples.map(({ candidate: { name }, mebibytes }) => {
    const sorted = mebibytes.toSorted((a, b) => a - b).map((value) => value.toFixed(0));
    return `${name}: ${sorted[Math.floor(MEMORY_SAMPLES / 2)]} MiB after ${LISTS.toLocaleString("en")} lists (${sorted.join(", ")})`;
  });
  return lines.join("\n");
}

/** In random order, so that no candidate always follows the same other. */
function shuffle<T>(items: T[]): T[] {
  const ranked = items.map((item) => ({ item, rank: Math.random() }));
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** One of the cores that this process may use. Undefined when a process cannot be pinned to a core. */
function lastCore(): string | undefined {
  const core = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return core !== undefined && spawnSync("taskset", ["--cpu-list", core, "true"]).status === 0 ? core : undefined;
}
