// Measures the latency of the Workers with the D1 and the KV of workerd.
import { setTimeout as wait } from "node:timers/promises";
import type { Candidate } from "./candidates.ts";
import { startInstance } from "./instance.ts";
import { CREATE, GET, LIST, send } from "./requests.ts";

const SAMPLES = 100;
const WARM_UP = 100;
/** Milliseconds from one request to the next, over all candidates. An open loop: it does not wait for responses. */
const INTERVAL = 12;

export const LATENCY_METHOD = `Each database has 1,000 animals.
Each Worker gets ${SAMPLES} requests of each kind. One is sent every ${INTERVAL} ms, to the Workers in turn.`;
export const LATENCY_REQUESTS = [LIST, CREATE, GET];

export interface Latency {
  candidate: Candidate;
  /** Of each request of `LATENCY_REQUESTS`. */
  milliseconds: number[][];
}

/** At a low rate. */
export async function measureLatency(candidates: Candidate[]): Promise<Latency[]> {
  await using running = new AsyncDisposableStack();
  const measured = [];
  for (const candidate of candidates) {
    const { port } = running.use(await startInstance(candidate, 1_000));
    const kinds = LATENCY_REQUESTS.map((request) => ({ port, request, times: [] as number[] }));
    for (let request = 0; request < WARM_UP; request++) for (const kind of kinds) await send(port, kind.request);
    measured.push({ candidate, kinds });
  }
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let sample = 0; sample < SAMPLES; sample++) {
    for (const { port, request, times } of measured.flatMap(({ kinds }) => kinds)) {
      await wait(Math.max(0, begin + pending.length * INTERVAL - performance.now()));
      const began = performance.now();
      pending.push(send(port, request).then(() => void times.push(performance.now() - began)));
    }
  }
  await Promise.all(pending);
  return measured.map(({ candidate, kinds }) => ({ candidate, milliseconds: kinds.map(({ times }) => times) }));
}
