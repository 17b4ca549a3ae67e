import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { BARE, type Candidate, FLOOR, TUTORIAL, TUTORIAL_PLAIN } from "./candidates.ts";
import { chart } from "./chart.ts";
import type { OperationCost } from "./operations.ts";
import { cpuMethod } from "./own-cost.ts";
import { WORKERD } from "./server.ts";
import type { Growth, PageCost } from "./size.ts";
import { startsMethod } from "./starts.ts";
import { cpuTable, type OwnCosts, ratio, ratioTable, startTable, table, withQuartiles } from "./tables.ts";
import { LOAD_METHOD, LOAD_REQUESTS, type UnderLoad } from "./under-load.ts";

export interface Results {
  own: OwnCosts;
  /** CPU of this service, microseconds: of each round of creations without an `Idempotency-Key`, and with one. */
  creations: { without: number[]; with: number[] };
  operations: OperationCost[];
  pages: PageCost[];
  growth: Growth;
  /** Who was put under load, and how they did. */
  stacks: Candidate[];
  underLoad: UnderLoad[];
}

/** Prints the tables, and writes them and a chart beside this file. */
export function writeReport({ own, creations, operations, pages, growth, stacks, underLoad }: Results): void {
  const page = `# Benchmark

\`npm run bench\` writes this page. It measures the production bundle beside other Workers that answer the same requests:

${CANDIDATES}

${machine()}

## CPU, start and size

Each Worker runs in a workerd of its own, with nothing in front of it.
Its bindings are stubs in JavaScript. They repeat what the D1 of workerd returned for the same statements.

${cpuMethod(own.cpu)}
${startsMethod(own.starts)}
The candidates take turns in random order.

Each figure is the 10th percentile of the rounds or starts. The median and the 75th percentile follow in brackets.
Other programs on the machine only add to a figure, and they add least to the fastest rounds. So each × is a ratio of 10th percentiles.

### CPU of a request

CPU of the whole process (user and system) in microseconds. × is the ratio to the hand-written Worker.

${cpuTable(own)}

### This service as a ratio to others

${ratioTable(own, [BARE, FLOOR, TUTORIAL_PLAIN, TUTORIAL])}

A creation with an \`Idempotency-Key\` costs ${ratio(creations.with, creations.without)} the CPU of one without.

### Size and start

× is the ratio to the hand-written Worker.

${startTable(own)}

## Storage

The service runs with the D1 (SQLite) and the KV of workerd.

One round trip is a response that takes 50 ms longer when each access to KV and D1 takes 50 ms longer.
D1 counts the rows, and charges for them.

${table(
  ["", "round trips", "rows read", "rows written"],
  operations.map(({ name, roundTrips, rowsRead, rowsWritten }) => [
    name,
    Math.max(0, roundTrips).toFixed(2),
    String(rowsRead),
    String(rowsWritten),
  ]),
)}

### Pages of small and large databases

A list of 10, milliseconds over HTTP: the median, and the quartiles in brackets.
The first three rows are one comparison, the other lists of animals another, and those of orders a third.
The largest database has as many orders as animals.

${table(
  ["animals", "page", "milliseconds", "rows read"],
  pages.map(({ animals, page: name, milliseconds, rowsRead }) => [
    animals.toLocaleString("en"),
    name,
    withQuartiles(milliseconds, 2),
    String(rowsRead),
  ]),
)}

The database grows by ${growth.bytesPerAnimal.toFixed(0)} bytes an animal and ${growth.bytesPerIdempotencyKey.toFixed(0)} bytes an idempotency key, indexes included.
The animals have names of 12 characters. The keys have 36 characters, and the ids of their API keys 16.

## Load

The Workers run with the D1 and the KV of workerd.
${LOAD_METHOD}
The simulation of D1 and KV takes nearly all of the time. On Cloudflare, the network takes its place.

${table(
  ["", ...LOAD_REQUESTS.flatMap(({ name }) => [`${name}, requests/s`, "p50, ms", "p99, ms"])],
  underLoad.map(({ requestsPerSecond, latency }, c) => [
    stacks[c]?.name ?? "",
    ...requestsPerSecond.flatMap((rate, r) => [
      rate.toFixed(0),
      latency[r]?.median.toFixed(1) ?? "",
      latency[r]?.p99.toFixed(1) ?? "",
    ]),
  ]),
)}
`;
  console.log(page);
  writeFileSync(join(import.meta.dirname, "results.md"), page);
  writeFileSync(join(import.meta.dirname, "results.svg"), chart(own));
}

const CANDIDATES = `| name | what it is |
| --- | --- |
| this service | the production bundle, as \`wrangler deploy\` makes it |
| hand-written | the same responses (only cursors differ), log and rate limit, without any library |
| bare | the lower limit: the same lookups and SQL without any library, log, rate limit, or headers other than \`Content-Type\` |
| tutorial-plain | Hono, zod, zod-validator, bearer-auth and drizzle, used as their tutorials show |
| tutorial | tutorial-plain with Hono's middleware for log, request id, secure headers and CORS, with scopes and a rate limit |
| chanfana | chanfana on Hono, with the middleware of tutorial |
| zod-openapi | @hono/zod-openapi, with the middleware of tutorial |
| empty | an empty response: the cost of workerd itself |`;

function machine(): string {
  const workerd = execFileSync(WORKERD, ["--version"], { encoding: "utf8" }).trim();
  const [processor] = cpus();
  return `The machine: ${cpus().length} cores (${processor?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Linux, Node ${process.versions.node}, ${workerd}.`;
}
