// Measures how many requests the service answers when D1 cannot run more queries, with and without READ_MAX_AGE.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Candidate } from "./candidates.ts";
import { startInstance } from "./instance.ts";
import { table } from "./report.ts";
import { LIST, send } from "./requests.ts";

const CONNECTIONS = 16;
/** Milliseconds that D1 needs for a query. It runs one at a time. */
const QUERY = 50;
/** Seconds that a read may be old. */
const READ_MAX_AGE = 5;
/** Milliseconds of each measurement. */
const DURATION = 10_000;

interface Settings {
  /** Milliseconds of a read. */
  milliseconds: number;
  /** Seconds. */
  readMaxAge: number;
}

/** Starts a service with 1,000 animals, whose D1 runs one read at a time. `reads` counts them. */
export async function startSlowInstance(candidate: Pick<Candidate, "script" | "migrations">, settings: Settings) {
  const instance = await startInstance(candidate, 1_000, [
    {
      type: "ESModule",
      path: "slow-database.js",
      contents: readFileSync(join(import.meta.dirname, "slow-database.js"), "utf8"),
    },
    { type: "Text", path: "settings.json", contents: JSON.stringify(settings) },
  ]);
  const reads = async () => Number((await send(instance.port, { ...LIST, path: "/reads" })).body);
  return { ...instance, reads };
}

/** Markdown of the throughput, for one page and for as many as there are connections. */
export async function measureOverload(candidate: Candidate): Promise<string> {
  const rows = [];
  for (const pages of [1, CONNECTIONS]) {
    for (const readMaxAge of [0, READ_MAX_AGE]) {
      await using instance = await startSlowInstance(candidate, { milliseconds: QUERY, readMaxAge });
      // The first request compiles.
      await send(instance.port, { ...LIST, headers: { ...LIST.headers, "Cache-Control": "no-cache" } });
      const requests = await sendPages(instance.port, pages);
      const [answered, reads] = [requests, await instance.reads()].map((count) => count / (DURATION / 1_000));
      rows.push([pages, readMaxAge, answered?.toFixed(0), reads?.toFixed(1)].map(String));
    }
  }
  return `D1 needs ${QUERY} ms for a query and runs one at a time. ${CONNECTIONS} connections send requests for ${DURATION / 1_000} seconds, each after the previous response.

${table(["pages", "READ_MAX_AGE", "requests a second", "queries a second"], rows)}`;
}

/** Returns how many requests were answered in time. */
async function sendPages(port: number, pages: number): Promise<number> {
  let answered = 0;
  const end = performance.now() + DURATION;
  const converse = async (connection: number): Promise<void> => {
    const request = { ...LIST, path: `/v1/pets?limit=${(connection % pages) + 1}` };
    for (;;) {
      await send(port, request);
      if (performance.now() >= end) return;
      answered++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => converse(connection)));
  return answered;
}
