import type { Candidate } from "./candidates.ts";
import { connections, CREATE, GET, LIST, repeat, send } from "./requests.ts";
import { Service } from "./service.ts";
import { type Spread, spread } from "./spread.ts";

const THROUGHPUT_REQUESTS = 600;
const THROUGHPUT_CONNECTIONS = 8;
const LATENCY_SAMPLES = 150;
/** Milliseconds from one request to the next: an open loop, slow enough that none waits for another. */
const LATENCY_INTERVAL = 12;

export const LOAD_METHOD = `1,000 animals. Throughput: ${THROUGHPUT_REQUESTS} requests over ${THROUGHPUT_CONNECTIONS} connections. Latency: ${LATENCY_SAMPLES} requests of each kind, one every ${LATENCY_INTERVAL} ms to one after the other of all.`;

export interface UnderLoad {
  candidate: Candidate;
  /** One for each request of `LOAD_REQUESTS`. */
  requestsPerSecond: number[];
  latency: Spread[];
}
export const LOAD_REQUESTS = [LIST, CREATE, GET];

/** Throughput when asked as fast as it answers, and latency in milliseconds at a low rate, of each candidate. */
export async function measureUnderLoad(candidates: Candidate[]): Promise<UnderLoad[]> {
  const found = [];
  for (const candidate of candidates) {
    const service = await Service.start(candidate, 1_000);
    found.push({
      candidate,
      service,
      requestsPerSecond: [] as number[],
      samples: LOAD_REQUESTS.map((): number[] => []),
    });
  }
  const agent = connections(THROUGHPUT_CONNECTIONS);
  for (const request of LOAD_REQUESTS) {
    for (const { service, requestsPerSecond } of found) {
      await repeat(agent, service.port, request, 100);
      const start = performance.now();
      await repeat(agent, service.port, request, THROUGHPUT_REQUESTS);
      requestsPerSecond.push((THROUGHPUT_REQUESTS * 1_000) / (performance.now() - start));
    }
  }
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let sample = 0; sample < LATENCY_SAMPLES; sample++) {
    for (const [r, request] of LOAD_REQUESTS.entries()) {
      for (const { service, samples } of found) {
        await until(begin + pending.length * LATENCY_INTERVAL);
        pending.push(send(agent, service.port, request).then((milliseconds) => void samples[r]?.push(milliseconds)));
      }
    }
  }
  await Promise.all(pending);
  agent.destroy();
  await Promise.all(found.map(({ service }) => service.stop()));
  return found.map(({ candidate, requestsPerSecond, samples }) => ({
    candidate,
    requestsPerSecond,
    latency: samples.map(spread),
  }));
}

async function until(time: number): Promise<void> {
  const left = time - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}
