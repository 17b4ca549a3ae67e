// The CPU that a Worker itself costs. Candidates are interleaved: whatever else the machine does meets all of them alike.
import { Load } from "./load.ts";
import type { Prepared } from "./prepare.ts";
import { type BenchRequest, expected } from "./requests.ts";
import { Server } from "./server.ts";
import { shuffle } from "./shuffle.ts";

/** Of a round. Short, so that many rounds are undisturbed on a machine that others use too. */
const REQUESTS = 200;
/** Before each round, so that it pays for nothing that another process left in the caches and queues of the machine. */
const LEAD_IN = 100;
/** Of each kind. V8 needs some ten thousand until it has compiled for the last time. */
const WARM_UP = 2_000;
/** Enough to keep workerd busy: a thread that goes to sleep between two requests costs more than many a Worker. */
const CONNECTIONS = 16;

/** One sentence on how these figures came about. */
export function cpuMethod(cpu: number[][][]): string {
  return `CPU: ${cpu[0]?.[0]?.length} rounds of ${REQUESTS} requests over ${CONNECTIONS} connections, after ${WARM_UP.toLocaleString("en")} of each kind to warm up.`;
}

/**
 * Microseconds of CPU a request, of the whole process: for each candidate and each kind of request, one figure a round.
 *
 * @param seconds for each candidate, without the time to warm up. The last round is finished.
 */
export async function measureCpu(
  candidates: Prepared[],
  requests: BenchRequest[],
  seconds: number,
): Promise<number[][][]> {
  await using running = new AsyncDisposableStack();
  const processes = [];
  for (const candidate of candidates) {
    const server = running.use(await Server.start(candidate));
    const measured = expected(candidate, requests).map((request) => ({ request, cpu: [] as number[] }));
    processes.push({ server, measured });
  }
  const all = processes.flatMap(({ server, measured }) => measured.map((kind) => ({ server, ...kind })));
  for (const { server, request } of all) {
    using load = await Load.open(server.port, CONNECTIONS);
    await load.repeat(request, WARM_UP);
  }
  const end = performance.now() + seconds * candidates.length * 1_000;
  while (performance.now() < end) {
    for (const { server, request, cpu } of shuffle(all)) {
      using load = await Load.open(server.port, CONNECTIONS);
      await load.repeat(request, LEAD_IN);
      const before = server.cpuMicroseconds();
      await load.repeat(request, REQUESTS);
      cpu.push((server.cpuMicroseconds() - before) / REQUESTS);
    }
  }
  return processes.map(({ measured }) => measured.map(({ cpu }) => cpu));
}
