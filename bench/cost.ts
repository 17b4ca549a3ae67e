// Measures the cost of the Workers themselves: the CPU time of a request, and a start. Candidates are interleaved, so that other
// load on the machine affects all of them equally.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { BARE, FLOOR, LARGEST_START } from "./candidates.ts";
import { Load } from "./load.ts";
import type { Prepared } from "./prepare.ts";
import { LIST, requestsOf } from "./requests.ts";
import { Server } from "./server.ts";
import { spread } from "./spread.ts";

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
/** The names of two figures beside those of the requests: workerd itself, the Worker's top level, and what the first request compiles. */
const [START, START_CPU] = ["start, ms", "CPU of a start, ms"];

interface Cost {
  candidate: Prepared;
  /**
   * The series of each figure by its name. That of a request is the CPU time of the whole process in microseconds, user and system: one
   * value for each round. Other programs on the machine disturb the CPU of a start less than its time.
   */
  series: Map<string, number[]>;
}

/**
 * Prints the costs. Each is the 10th percentile, then the median, and the ratio of 10th percentiles to those of the hand-written Worker.
 * Other programs on the machine only add to a figure, and they add least to the fastest rounds.
 *
 * @param seconds of CPU measurement for each candidate.
 */
export async function showCosts(candidates: Prepared[], seconds: number): Promise<void> {
  const costs = candidates.map((candidate) => ({ candidate, series: new Map<string, number[]>() }));
  await measureCpu(costs, seconds);
  await measureStarts(costs, seconds * STARTS);
  const floor = costs.find(({ candidate }) => candidate.name === FLOOR)?.series;
  const rows = [...(costs[0]?.series.keys() ?? [])].map((figure) => {
    const cells = costs.map(({ candidate, series }) => [candidate.name, cell(series.get(figure), floor?.get(figure))]);
    return [figure, Object.fromEntries(cells)];
  });
  const sizes = costs.map(({ candidate: { name, gzip } }) => [name, (gzip / 1_024).toFixed(1)]);
  console.table(Object.fromEntries([...rows, ["bundle, KiB gzip", Object.fromEntries(sizes)]]));
}

function cell(values: number[] | undefined, bases: number[] | undefined): string {
  if (values === undefined) return "";
  const { p10, median } = spread(values);
  return `${p10.toFixed(1)} (${median.toFixed(1)})${bases ? ` ×${(p10 / spread(bases).p10).toFixed(2)}` : ""}`;
}

/** Enough for the median of the ratios to vary by some hundredths on a busy machine. */
const ROUNDS_OF_STARTS = 25;

/**
 * Prints the CPU of a start, and its ratio to that of the bare Worker: the median of the ratios of the rounds, so that each is of two starts
 * that follow each other.
 *
 * @returns whether the first candidate keeps `LARGEST_START`.
 */
export async function checkStarts(candidates: Prepared[]): Promise<boolean> {
  const costs = candidates.map((candidate) => ({ candidate, series: new Map<string, number[]>() }));
  await measureStarts(costs, ROUNDS_OF_STARTS);
  const cpuOf = ({ series }: Cost) => series.get(START_CPU) ?? [];
  const bare = costs.filter(({ candidate }) => candidate.name === BARE).flatMap(cpuOf);
  const ratios = costs.map((cost) => {
    const ratio = spread(cpuOf(cost).map((cpu, round) => cpu / (bare[round] ?? Number.NaN))).median;
    console.log(`${cost.candidate.name}: ${spread(cpuOf(cost)).median.toFixed(1)} ms of CPU, ×${ratio.toFixed(2)}`);
    return ratio;
  });
  const [ours = Number.NaN] = ratios;
  console.log(`A start may take ×${LARGEST_START} of the bare Worker`);
  return ours <= LARGEST_START;
}

async function measureCpu(costs: Cost[], seconds: number): Promise<void> {
  await using running = new AsyncDisposableStack();
  const measured = [];
  for (const { candidate, series } of costs) {
    const server = running.use(await Server.start(candidate));
    for (const request of requestsOf(candidate)) {
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(request, WARM_UP);
      const rounds: number[] = [];
      series.set(request.name, rounds);
      measured.push({ server, request, rounds });
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

async function measureStarts(costs: Cost[], times: number): Promise<void> {
  for (const { series } of costs) for (const figure of [START, START_CPU]) series.set(figure, []);
  for (let round = 0; round < times; round++) {
    for (const { candidate, series } of shuffle(costs)) {
      const began = performance.now();
      await using server = await Server.start(candidate, CORE);
      series.get(START)?.push(performance.now() - began);
      series.get(START_CPU)?.push(server.cpuMicroseconds() / 1_000);
    }
  }
}

/** Lists before the memory is read. */
const LISTS = 60_000;
const MEMORY_SAMPLES = 5;

/** Prints the memory of each candidate after many lists, in a new process for each sample. */
export async function showMemory(candidates: Prepared[]): Promise<void> {
  const samples = candidates.map((candidate) => ({ candidate, mebibytes: [] as number[] }));
  for (let sample = 0; sample < MEMORY_SAMPLES; sample++) {
    for (const { candidate, mebibytes } of shuffle(samples)) {
      await using server = await Server.start(candidate);
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(LIST, LISTS);
      mebibytes.push(server.residentBytes() / 2 ** 20);
    }
  }
  for (const { candidate, mebibytes } of samples)
    console.log(
      `${candidate.name}: ${spread(mebibytes).median.toFixed(0)} MiB after ${LISTS.toLocaleString("en")} lists`,
    );
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
