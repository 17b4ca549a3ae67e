import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { BARE, type Candidate, FLOOR, SERVICE, TUTORIAL, TUTORIAL_PLAIN } from "./candidates.ts";
import type { OperationCost } from "./operations.ts";
import { cpuMethod } from "./own-cost.ts";
import { REQUESTS } from "./requests.ts";
import { WORKERD } from "./server.ts";
import type { Growth, PageCost } from "./size.ts";
import { type Spread, spread } from "./spread.ts";
import { LOAD_METHOD, LOAD_REQUESTS, type UnderLoad } from "./under-load.ts";

export interface Results {
  candidates: Candidate[];
  /** Microseconds: candidate, request of `REQUESTS`, round. */
  cpu: number[][][];
  /** The same of this service for a creation, without and with an `Idempotency-Key`. */
  creations: number[][];
  /** Milliseconds: candidate, start. */
  starts: number[][];
  operations: OperationCost[];
  pages: PageCost[];
  growth: Growth;
  /** Who was put under load, and how they did. */
  stacks: Candidate[];
  underLoad: UnderLoad[];
}

const NAMES = REQUESTS.map(({ name }) => name);

/** Prints the tables, and writes them and a chart beside this file. */
export function writeReport(results: Results): void {
  const { candidates, cpu, creations, starts, operations, pages, growth, stacks, underLoad } = results;
  const of = <T>(values: T[][], name: string) =>
    values[candidates.findIndex((candidate) => candidate.name === name)] ?? [];
  const comparison = [BARE, FLOOR, TUTORIAL_PLAIN, TUTORIAL].map((base) => [
    base,
    ...of(cpu, SERVICE).map((rounds, r) => ratio(rounds, of(cpu, base)[r])),
    ratio(of(starts, SERVICE), of(starts, base)),
  ]);
  const page = `# Benchmark

Written by \`npm run bench\`. ${machine()}.

## What the Workers themselves cost

In workerd with nothing in front of it, and bindings stubbed in JavaScript. ${cpuMethod(cpu)} Starts: ${starts[0]?.length}. Given is what the fastest tenth of
the rounds stay below, and in brackets the median and the upper quartile. What else the machine does only adds, and least to the fastest: ratios are of them.

CPU of the whole process (user and system), microseconds a request; × is the ratio to the hand-written Worker. The empty Worker shows how much of it is workerd's own:

${cpuTable(candidates, cpu)}

This service as a ratio to:

${table(["", ...NAMES, "start-up"], comparison)}

A creation with an \`Idempotency-Key\` costs ${ratio(creations[1] ?? [], creations[0])} the CPU of one without.

${table(
  ["", "bundle, KiB gzip", "start to first answer, ms"],
  candidates.map(({ name, gzip }) => [
    name,
    (gzip / 1024).toFixed(1),
    `${withSpread(of(starts, name), 1)} ${ratio(of(starts, name), of(starts, FLOOR))}`,
  ]),
)}

## What the operations of this service cost in storage

Real D1 (SQLite) and KV of workerd. Round trips are latency: what an answer takes longer when each access to KV and D1 is delayed by
50 ms, in units of that delay. Rows are those that D1 counts, and bills.

${table(
  ["", "round trips", "rows read", "rows written"],
  operations.map(({ name, roundTrips, rowsRead, rowsWritten }) => [
    name,
    Math.max(0, roundTrips).toFixed(2),
    String(rowsRead),
    String(rowsWritten),
  ]),
)}

A page of 10 of the list, milliseconds over HTTP: the median and the quartiles. The first three lines are compared with each other, and so are the others:

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
(names of 12 characters, keys of 36 by API keys with ids of 16).

## With real storage, under load

${LOAD_METHOD} Nearly all of it is the simulation of D1 and KV, which real ones don't have; real ones have a network instead.

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
  writeFileSync(join(import.meta.dirname, "results.svg"), chart(candidates, cpu));
}

/** CPU of each candidate for each request of `REQUESTS`, microseconds, and as a ratio to the floor. */
export function cpuTable(candidates: Candidate[], cpu: number[][][]): string {
  const floor = cpu[candidates.findIndex(({ name }) => name === FLOOR)];
  return table(
    ["", ...NAMES],
    candidates.map(({ name }, c) => [
      name,
      ...(cpu[c] ?? []).map((rounds, r) => `${withSpread(rounds, 0)} ${ratio(rounds, floor?.[r])}`),
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

function withSpread(values: number[], digits: number): string {
  const { p10, median, high } = spread(values);
  return `${p10.toFixed(digits)} (${median.toFixed(digits)}, ${high.toFixed(digits)})`;
}

function ratio(values: number[], bases: number[] = []): string {
  return `×${(spread(values).p10 / spread(bases).p10).toFixed(2)}`;
}

function chart(candidates: Candidate[], cpu: number[][][]): string {
  const colours = ["#1a73e8", "#9aa0a6", "#3c4043", "#fbbc04", "#f9ab00", "#e8710a", "#d93025", "#dadce0"];
  const bar = { width: 18, gap: 4 };
  const group = candidates.length * bar.width + 40;
  const height = 240;
  const width = NAMES.length * group + 80;
  const microseconds = cpu.map((requests) => requests.map((rounds) => spread(rounds).p10));
  const most = Math.max(...microseconds.flat());
  const bars = NAMES.flatMap((name, n) => [
    `<text x="${60 + n * group + (group - 40) / 2}" y="${height + 60}" text-anchor="middle">${name}</text>`,
    ...microseconds.map((values, c) => {
      const value = values[n] ?? 0;
      const tall = (value / most) * height;
      const x = 60 + n * group + c * bar.width;
      return `<rect x="${x}" y="${40 + height - tall}" width="${bar.width - bar.gap}" height="${tall}" fill="${colours[c]}"/><text x="${x + 7}" y="${36 + height - tall}" text-anchor="middle" font-size="9">${value.toFixed(0)}</text>`;
    }),
  ]);
  const legend = candidates.map(
    ({ name }, c) =>
      `<rect x="${60 + c * 130}" y="${height + 78}" width="12" height="12" fill="${colours[c]}"/><text x="${78 + c * 130}" y="${height + 89}">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + 110}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="CPU microseconds a request">
<rect width="100%" height="100%" fill="#fff"/>
<text x="60" y="20" font-weight="bold">CPU, microseconds a request (less is better)</text>
${[...bars, ...legend].join("\n")}
</svg>
`;
}
