// Compares the CPU time of the Workers themselves: of a request, and of a start. A ratio is the median of those of the rounds, and a round
// measures the candidates one after the other: other load on the machine affects all of them equally.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { BARE, LARGEST_RISE, LARGEST_START } from "./candidates.ts";
import { Load } from "./load.ts";
import type { Prepared } from "./prepare.ts";
import { type BenchRequest, requestsOf } from "./requests.ts";
import { Server } from "./server.ts";

/** Rounds by default. With four, single rows differ by up to 0.4 on a quiet machine. */
export const ROUNDS = 15;
/** Requests of a kind in a round. So many that the garbage collector runs often in each: without it, a creation looks cheaper than it is. */
const ROUND = 2_000;
/** Requests before each round, so that it does not pay for the caches and queues that another process left. */
const LEAD_IN = 200;
/** Warm-up requests of each kind. V8 finishes compiling after some ten thousand. */
const WARM_UP = 2_000;
/** Enough connections to keep workerd busy. A thread that sleeps between two requests costs more than many Workers. */
const CONNECTIONS = 8;
/** Enough for the median of the ratios to vary by some hundredths on a busy machine. */
const ROUNDS_OF_STARTS = 25;
/** The core of workerd, if this machine has taskset. On several, the threads of V8 would wait for each other at another price. */
const CORE = lastCore();

/** Microseconds, of CPU time of the whole process (user and system) or of a clock: one value for each round, by the name of the candidate. */
type Rounds = { [candidate: string]: number[] };

/**
 * Prints the CPU time of each request in that of each other candidate.
 *
 * @returns whether the first candidate takes at most `LARGEST_RISE` of the earlier version, if there is one.
 */
export async function compareCosts([ours, ...others]: Prepared[], rounds: number): Promise<boolean> {
  if (ours === undefined) return false;
  const ratios = [...(await measureCpu([ours, ...others], rounds))].map(
    ([request, costs]) =>
      [
        request,
        Object.fromEntries(
          others.filter(({ name }) => name in costs).map(({ name }) => [name, ratioOf(costs, ours.name, name)]),
        ),
      ] as const,
  );
  console.table(
    Object.fromEntries(
      ratios.map(([request, row]) => [
        request,
        Object.fromEntries(Object.entries(row).map(([name, ratio]) => [`to ${name}`, `×${ratio.toFixed(2)}`])),
      ]),
    ),
  );
  const dearer = ratios.filter(([, row]) => Object.entries(row).some(isTooMuch)).map(([request]) => request);
  if (dearer.length > 0) console.log(`Over ×${LARGEST_RISE} of before: ${dearer.join(", ")}`);
  return dearer.length === 0;
}

const isTooMuch = ([name, ratio]: [string, number]) => name.startsWith("before") && ratio > LARGEST_RISE;

/**
 * Prints the CPU and the time of a start in those of the bare Worker.
 *
 * @returns whether the first candidate keeps `LARGEST_START` in both.
 */
export async function checkStarts(candidates: Prepared[]): Promise<boolean> {
  const measured = await measureStarts(candidates);
  const ours = Object.entries(measured).map(([what, rounds]) => {
    const ratios = candidates.map(({ name }) => {
      const ratio = ratioOf(rounds, name, BARE);
      console.log(`${name}: ${(median(rounds[name] ?? []) / 1_000).toFixed(1)} ms of ${what}, ×${ratio.toFixed(2)}`);
      return ratio;
    });
    return ratios[0] ?? Number.NaN;
  });
  console.log(`A start may take ×${LARGEST_START} of the bare Worker`);
  return Math.max(...ours) <= LARGEST_START;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function ratioOf(rounds: Rounds, name: string, base: string): number {
  return median((rounds[name] ?? []).map((cpu, round) => cpu / (rounds[base]?.[round] ?? Number.NaN)));
}

/** By the name of the request. */
async function measureCpu(candidates: Prepared[], rounds: number): Promise<Map<string, Rounds>> {
  await using running = new AsyncDisposableStack();
  const servers: { name: string; server: Server; requests: Map<string, BenchRequest> }[] = [];
  for (const { name, ...candidate } of candidates) {
    const server = running.use(await Server.start(candidate, CORE));
    const requests = new Map(requestsOf({ name, ...candidate }).map((request) => [request.name, request]));
    for (const request of requests.values()) {
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(request, WARM_UP);
    }
    servers.push({ name, server, requests });
  }
  const isShared = (kind: string) => servers.filter(({ requests }) => requests.has(kind)).length > 1;
  const kinds = [...(servers[0]?.requests.keys() ?? [])].filter(isShared);
  const all = new Map<string, Rounds>(kinds.map((kind) => [kind, {}]));
  for (let round = 0; round < rounds; round++) {
    for (const [kind, costs] of shuffle([...all])) {
      for (const { name, server, requests } of shuffle(servers)) {
        const request = requests.get(kind);
        if (request === undefined) continue;
        using load = await Load.open(server.port, CONNECTIONS);
        await load.repeat(request, LEAD_IN);
        const before = server.cpuMicroseconds();
        await load.repeat(request, ROUND);
        (costs[name] ??= []).push((server.cpuMicroseconds() - before) / ROUND);
      }
    }
  }
  return all;
}

/** Until the first response: workerd itself, the top level of the Worker, and what the first request compiles. In microseconds. */
async function measureStarts(candidates: Prepared[]): Promise<{ CPU: Rounds; time: Rounds }> {
  const [CPU, time]: [Rounds, Rounds] = [{}, {}];
  for (let round = 0; round < ROUNDS_OF_STARTS; round++) {
    for (const candidate of shuffle(candidates)) {
      const begin = performance.now();
      await using server = await Server.start(candidate, CORE);
      (time[candidate.name] ??= []).push((performance.now() - begin) * 1_000);
      (CPU[candidate.name] ??= []).push(server.cpuMicroseconds());
    }
  }
  return { CPU, time };
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
