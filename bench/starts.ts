// The cost of a new process up to its first response: workerd itself, the Worker's top level, and what the first request compiles.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Prepared } from "./prepare.ts";
import { Server } from "./server.ts";
import { shuffle } from "./shuffle.ts";

/** Where they run, if this machine has taskset: V8 would compile on as many cores as there are. */
const CORE = lastCore();

/** One sentence on how these figures came about. */
export function startsMethod(starts: Starts[]): string {
  const cores = CORE === undefined ? "on any core, because this machine has no taskset" : "on one core";
  return `Start: ${starts[0]?.milliseconds.length} times, ${cores}, from the start of the process to the end of its first response, a list of 20.`;
}

export interface Starts {
  /** Of each start. */
  milliseconds: number[];
  /** CPU of the whole process, user and system. Other programs on the machine disturb it less than the time. */
  cpuMilliseconds: number[];
}

/** Of each candidate. */
export async function measureStarts(candidates: Prepared[], starts: number): Promise<Starts[]> {
  const measured = candidates.map((candidate) => ({
    candidate,
    milliseconds: [] as number[],
    cpuMilliseconds: [] as number[],
  }));
  for (let round = 0; round < starts; round++) {
    for (const { candidate, milliseconds, cpuMilliseconds } of shuffle(measured)) {
      const began = performance.now();
      await using server = await Server.start(candidate, CORE);
      milliseconds.push(performance.now() - began);
      cpuMilliseconds.push(server.cpuMicroseconds() / 1_000);
    }
  }
  return measured;
}

/** Of those that this process may use, or undefined when there is no way to keep a process on it. */
function lastCore(): string | undefined {
  const core = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return core !== undefined && spawnSync("taskset", ["--cpu-list", core, "true"]).status === 0 ? core : undefined;
}
