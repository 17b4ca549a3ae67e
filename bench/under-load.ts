import type { Candidate } from "./candidates.ts";
import { Instance } from "./instance.ts";
import { Load } from "./load.ts";
import { connections, CREATE, GET, LIST, send } from "./requests.ts";
import { type Spread, spread } from "./spread.ts";

const THROUGHPUT_ROUNDS = 3;
const THROUGHPUT_REQUESTS = 150;
const THROUGHPUT_CONNECTIONS = 8;
const LATENCY_SAMPLES = 100;
/** Milliseconds from one request to the next, whoever is asked: an open loop, whether the ones before were answered or not. */
const LATENCY_INTERVAL = 12;

export const LOAD_METHOD = `Each database has 1,000 animals.
Throughput is the median of ${THROUGHPUT_ROUNDS} interleaved rounds of ${THROUGHPUT_REQUESTS} requests over ${THROUGHPUT_CONNECTIONS} connections.
Latency comes from ${LATENCY_SAMPLES} requests of each kind to each Worker. One is sent every ${LATENCY_INTERVAL} ms, to the Workers in turn.`;
export const LOAD_REQUESTS = [LIST, CREATE, GET];

/** One figure for each request of `LOAD_REQUESTS`. */
export interface UnderLoad {
  requestsPerSecond: number[];
  /** Milliseconds. */
  latency: Spread[];
}

/** Throughput when asked as fast as it answers, and latency at a low rate, of each candidate. */
export async function measureUnderLoad(candidates: Candidate[]): Promise<UnderLoad[]> {
  await using running = new AsyncDisposableStack();
  const agent = running.adopt(connections(THROUGHPUT_CONNECTIONS), (open) => open.destroy());
  const loads = [];
  for (const candidate of candidates) {
    const { port } = running.use(await Instance.start(candidate, 1_000));
    loads.push({
      port,
      measured: LOAD_REQUESTS.map((request) => ({ request, rates: [] as number[], times: [] as number[] })),
    });
  }
  // The first round warms up.
  for (let round = 0; round <= THROUGHPUT_ROUNDS; round++) {
    for (const { port, measured } of loads) {
      for (const { request, rates } of measured) {
        using load = await Load.open(port, THROUGHPUT_CONNECTIONS);
        const start = performance.now();
        await load.repeat(request, THROUGHPUT_REQUESTS);
        if (round > 0) rates.push((THROUGHPUT_REQUESTS * 1_000) / (performance.now() - start));
      }
    }
  }
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let sample = 0; sample < LATENCY_SAMPLES; sample++) {
    for (const { port, measured } of loads) {
      for (const { request, times } of measured) {
        await until(begin + pending.length * LATENCY_INTERVAL);
        pending.push(send(agent, port, request).then((milliseconds) => void times.push(milliseconds)));
      }
    }
  }
  await Promise.all(pending);
  return loads.map(({ measured }) => ({
    requestsPerSecond: measured.map(({ rates }) => spread(rates).median),
    latency: measured.map(({ times }) => spread(times)),
  }));
}

async function until(time: number): Promise<void> {
  const left = time - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}
