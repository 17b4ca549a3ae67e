// What a Worker itself costs: CPU and start-up. Candidates are interleaved: whatever else the machine does meets all of them alike.
import type { Prepared } from "./prepare.ts";
import { type BenchRequest, connections, expected, repeat } from "./requests.ts";
import { Server } from "./server.ts";

/** Many short rounds, so that many of them are undisturbed on a machine that others use too. */
const ROUNDS = 50;
const REQUESTS = 200;
/** Before each round, so that it pays for nothing that another process left in the caches and queues of the machine. */
const LEAD_IN = 100;
/** Of each kind. V8 needs some ten thousand until it has compiled for the last time. */
const WARM_UP = 3_000;
/** Enough to keep workerd busy: a thread that goes to sleep between two requests costs more than many a Worker. */
const CONNECTIONS = 16;
const STARTS = 41;

export const METHOD = `CPU: ${ROUNDS} rounds of ${REQUESTS} requests after ${WARM_UP} of each kind to warm up, ${CONNECTIONS} connections; start-up: ${STARTS} starts`;

/** Microseconds of CPU a request, of the whole process: for each candidate and each kind of request, one figure a round. */
export async function measureCpu(
  candidates: Prepared[],
  requests: BenchRequest[],
  rounds = ROUNDS,
): Promise<number[][][]> {
  await using running = new AsyncDisposableStack();
  const loads = [];
  for (const candidate of candidates) {
    const server = running.use(await Server.start(candidate));
    const agent = running.adopt(connections(CONNECTIONS), (open) => open.destroy());
    const measured = expected(candidate, requests).map((request) => ({ request, cpu: [] as number[] }));
    loads.push({ server, agent, measured });
  }
  const all = loads.flatMap(({ server, agent, measured }) => measured.map((kind) => ({ server, agent, ...kind })));
  for (const { server, agent, request } of all) await repeat(agent, server.port, request, WARM_UP);
  for (let round = 0; round < rounds; round++) {
    for (const { server, agent, request, cpu } of shuffle(all)) {
      await repeat(agent, server.port, request, LEAD_IN);
      const before = server.cpuMicroseconds();
      await repeat(agent, server.port, request, REQUESTS);
      cpu.push((server.cpuMicroseconds() - before) / REQUESTS);
    }
  }
  return loads.map(({ measured }) => measured.map(({ cpu }) => cpu));
}

/** Milliseconds from the start of the process to the end of its first answer, of each candidate. */
export async function measureStarts(candidates: Prepared[]): Promise<number[][]> {
  const measured = candidates.map((candidate) => ({ candidate, starts: [] as number[] }));
  for (let round = 0; round < STARTS; round++) {
    for (const { candidate, starts } of shuffle(measured)) {
      const began = performance.now();
      await using _server = await Server.start(candidate);
      starts.push(performance.now() - began);
    }
  }
  return measured.map(({ starts }) => starts);
}

/** A new order: nobody always runs behind the same other. */
function shuffle<T>(items: T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
