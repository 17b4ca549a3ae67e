import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { FLOOR, SERVICE, TUTORIAL } from "./candidates.ts";
import type { OperationCost } from "./operations.ts";
import { METHOD, type OwnCost, WORKERD } from "./own-cost.ts";
import type { BenchRequest } from "./requests.ts";
import type { Growth, PageCost } from "./size.ts";
import { ratios, type Spread, spread } from "./spread.ts";
import { LOAD_METHOD, LOAD_REQUESTS, type UnderLoad } from "./under-load.ts";

export interface Results {
  requests: BenchRequest[];
  ownCosts: OwnCost[];
  /** CPU of this service for a creation, without and with an `Idempotency-Key`. */
  creations: number[][];
  operations: OperationCost[];
  pages: PageCost[];
  growth: Growth;
  underLoad: UnderLoad[];
}

/** Prints the tables, and writes them and a chart beside this file. */
export function writeReport({ requests, ownCosts, creations, operations, pages, growth, underLoad }: Results): void {
  const names = requests.map(({ name }) => name);
  const [ours, floor, tutorial] = [SERVICE, FLOOR, TUTORIAL].map((name) =>
    ownCosts.find(({ candidate }) => candidate.name === name),
  );
  if (ours === undefined || floor === undefined) throw new Error("no floor to compare with");

  const [plain = [], once = []] = creations;
  const comparison = [floor, tutorial].flatMap((base) =>
    base === undefined
      ? []
      : [
          [
            base.candidate.name,
            ...ours.cpu.map((rounds, r) => withQuartiles(ratios(rounds, base.cpu[r] ?? []), 2)),
            withQuartiles(ratios(ours.starts, base.starts), 2),
          ],
        ],
  );
  const starts = ownCosts.map(({ candidate, starts: own }) => [
    candidate.name,
    (candidate.gzip / 1024).toFixed(1),
    `${withQuartiles(spread(own), 1)} ${times(ratios(own, floor.starts))}`,
  ]);
  const page = `# Benchmark

Written by \`npm run bench\`. ${machine()}. Medians, with the quartiles in brackets.

## What the Workers themselves cost

In workerd with nothing in front of it, and bindings stubbed in JavaScript. ${METHOD}.

CPU of the process (user and system), microseconds a request; × is the ratio to the hand-written Worker, round by round:

${cpuTable(requests, ownCosts, floor)}

This service as a ratio to:

${table(["", ...names, "start-up"], comparison)}

A creation with an \`Idempotency-Key\` costs ${withQuartiles(ratios(once, plain), 2)} times the CPU of one without.

${table(["", "bundle, KiB gzip", "start to first answer, ms"], starts)}

## What the operations of this service cost in storage

Real D1 (SQLite) and KV of workerd. Round trips are latency: what an answer takes longer when each access to KV and D1 is delayed by
50 ms, in units of that delay. Rows are those that D1 counts, and bills.

${table(
  ["", "round trips", "rows read", "rows written"],
  operations.map(({ name, roundTrips, rowsRead, rowsWritten }) => [
    name,
    Math.abs(roundTrips).toFixed(2),
    String(rowsRead),
    String(rowsWritten),
  ]),
)}

A page of 10 of the list, milliseconds over HTTP. The first three lines are compared with each other, and so are the others:

${table(
  ["animals", "page", "milliseconds", "rows read"],
  pages.map(({ animals, page: name, milliseconds, rowsRead }) => [
    animals.toLocaleString("en"),
    name,
    withQuartiles(milliseconds, 2),
    String(rowsRead),
  ]),
)}

The database grows by ${growth.bytesPerAnimal.toFixed(0)} bytes an animal and ${growth.bytesPerIdempotencyKey.toFixed(0)} bytes an idempotency key, indexes included
(names of 12 characters, keys of 36).

## With real storage, under load

${LOAD_METHOD} Nearly all of it is the simulation of D1 and KV, which real ones don't have; real ones have a network instead.

${table(
  ["", ...LOAD_REQUESTS.flatMap(({ name }) => [`${name}, requests/s`, "p50, ms", "p99, ms"])],
  underLoad.map(({ candidate, requestsPerSecond, latency }) => [
    candidate.name,
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
  writeFileSync(join(import.meta.dirname, "results.svg"), chart(names, ownCosts));
}

/** CPU of each candidate, microseconds a request, and as a ratio to the floor. */
export function cpuTable(requests: BenchRequest[], ownCosts: OwnCost[], floor: OwnCost): string {
  return table(
    ["", ...requests.map(({ name }) => name)],
    ownCosts.map(({ candidate, cpu }) => [
      candidate.name,
      ...cpu.map((rounds, r) => `${withQuartiles(spread(rounds), 0)} ${times(ratios(rounds, floor.cpu[r] ?? []))}`),
    ]),
  );
}

function machine(): string {
  const workerd = execFileSync(WORKERD, ["--version"], { encoding: "utf8" }).trim();
  const [processor] = cpus();
  return `${cpus().length} cores (${processor?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Linux. Node ${process.versions.node}, ${workerd}`;
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function withQuartiles({ low, median, high }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

function times({ median }: Spread): string {
  return `×${median.toFixed(2)}`;
}

function chart(names: string[], ownCosts: OwnCost[]): string {
  const colours = ["#1a73e8", "#9aa0a6", "#f9ab00", "#e8710a", "#d93025"];
  const bar = { width: 18, gap: 4 };
  const group = ownCosts.length * bar.width + 40;
  const height = 240;
  const width = names.length * group + 80;
  const medians = ownCosts.map(({ cpu }) => cpu.map((rounds) => spread(rounds).median));
  const most = Math.max(...medians.flat());
  const bars = names.flatMap((name, n) => [
    `<text x="${60 + n * group + (group - 40) / 2}" y="${height + 60}" text-anchor="middle">${name}</text>`,
    ...medians.map((values, c) => {
      const value = values[n] ?? 0;
      const tall = (value / most) * height;
      const x = 60 + n * group + c * bar.width;
      return `<rect x="${x}" y="${40 + height - tall}" width="${bar.width - bar.gap}" height="${tall}" fill="${colours[c]}"/><text x="${x + 7}" y="${36 + height - tall}" text-anchor="middle" font-size="9">${value.toFixed(0)}</text>`;
    }),
  ]);
  const legend = ownCosts.map(
    ({ candidate }, c) =>
      `<rect x="${60 + c * 130}" y="${height + 78}" width="12" height="12" fill="${colours[c]}"/><text x="${78 + c * 130}" y="${height + 89}">${candidate.name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + 110}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="CPU microseconds a request">
<rect width="100%" height="100%" fill="#fff"/>
<text x="60" y="20" font-weight="bold">CPU, microseconds a request (less is better)</text>
${[...bars, ...legend].join("\n")}
</svg>
`;
}
