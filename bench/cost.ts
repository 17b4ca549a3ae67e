// Compares the CPU time of the Workers themselves: of a request, and of a start. A ratio is the median of those of the rounds, and a round
// measures the candidates one after the other: other load on the machine affects all of them equally.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { BARE, LARGEST_RISE, LARGEST_START } from "./candidates.ts";
import { Load } from "./load.ts";
import type { Prepared } from "./prepare.ts";
import { type BenchRequest, requestsOf } from "./requests.ts";
import { Server } from "./server.ts";
import { median } from "./median.ts";

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
/** Enough for the median of the ratios to vary by some hundredths on a busy machine. */
const ROUNDS_OF_STARTS = 25;
/** The core for starts, if this machine has taskset. Otherwise V8 would compile on all cores. */
const CORE = lastCore();

/** CPU time of the whole process in microseconds, user and system: one value for each round, by the name of the candidate. */
type Rounds = { [candidate: string]: number[] };

/**
 * Prints the CPU time of each request in that of each other candidate.
 *
 * @param seconds of CPU measurement for each candidate.
 * @returns whether the first candidate takes at most `LARGEST_RISE` of the earlier version, if there is one.
 */
export async function compareCosts([ours, ...others]: Prepared[], seconds: number): Promise<boolean> {
  if (ours === undefined) return false;
  const ratios = [...(await measureCpu([ours, ...others], seconds))].map(
    ([request, rounds]) =>
      [
        request,
        Object.fromEntries(
          others.filter(({ name }) => name in rounds).map(({ name }) => [name, ratioOf(rounds, ours.name, name)]),
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
 * Prints the CPU of a start in that of the bare Worker.
 *
 * @returns whether the first candidate keeps `LARGEST_START`.
 */
export async function checkStarts(candidates: Prepared[]): Promise<boolean> {
  const rounds = await measureStarts(candidates);
  const ratios = candidates.map(({ name }) => {
    const ratio = ratioOf(rounds, name, BARE);
    console.log(`${name}: ${(median(rounds[name] ?? []) / 1_000).toFixed(1)} ms of CPU, ×${ratio.toFixed(2)}`);
    return ratio;
  });
  const [ours = Number.NaN] = ratios;
  console.log(`A start may take ×${LARGEST_START} of the bare Worker`);
  return ours <= LARGEST_START;
}

function ratioOf(rounds: Rounds, name: string, base: string): number {
  return median((rounds[name] ?? []).map((cpu, round) => cpu / (rounds[base]?.[round] ?? Number.NaN)));
}

/** By the name of the request. */
async function measureCpu(candidates: Prepared[], seconds: number): Promise<Map<string, Rounds>> {
  await using running = new AsyncDisposableStack();
  const servers: { name: string; server: Server; requests: Map<string, BenchRequest> }[] = [];
  for (const { name, ...candidate } of candidates) {
    const server = running.use(await Server.start(candidate));
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
  const end = performance.now() + seconds * candidates.length * 1_000;
  while (performance.now() < end) {
    for (const [kind, rounds] of shuffle([...all])) {
      for (const { name, server, requests } of shuffle(servers)) {
        const request = requests.get(kind);
        if (request === undefined) continue;
        using load = await Load.open(server.port, CONNECTIONS);
        await load.repeat(request, LEAD_IN);
        const before = server.cpuMicroseconds();
        await load.repeat(request, ROUND);
        (rounds[name] ??= []).push((server.cpuMicroseconds() - before) / ROUND);
      }
    }
  }
  return all;
}

/** Until the first response: workerd itself, the top level of the Worker, and what the first request compiles. */
async function measureStarts(candidates: Prepared[]): Promise<Rounds> {
  const rounds: Rounds = {};
  for (let round = 0; round < ROUNDS_OF_STARTS; round++) {
    for (const candidate of shuffle(candidates)) {
      await using server = await Server.start(candidate, CORE);
      (rounds[candidate.name] ??= []).push(server.cpuMicroseconds());
    }
  }
  return rounds;
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
