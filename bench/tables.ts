import { type Candidate, FLOOR, SERVICE } from "./candidates.ts";
import { REQUESTS } from "./requests.ts";
import { type Spread, spread } from "./spread.ts";
import type { Starts } from "./starts.ts";

/** What the Workers themselves cost. */
export interface OwnCosts {
  candidates: Candidate[];
  /** Microseconds: candidate, request of `REQUESTS`, round. */
  cpu: number[][][];
  /** Of each candidate. */
  starts: Starts[];
}

const NAMES = REQUESTS.map(({ name }) => name);

/** CPU of each candidate for each request of `REQUESTS`, microseconds, and as a ratio to the floor. */
export function cpuTable({ candidates, cpu }: OwnCosts): string {
  const floor = cpu[indexOf(candidates, FLOOR)];
  return table(
    ["", ...NAMES],
    candidates.map(({ name }, c) => [
      name,
      ...(cpu[c] ?? []).map((rounds, r) => `${withSpread(rounds, 0)} ${ratio(rounds, floor?.[r])}`),
    ]),
  );
}

/** CPU and starts of the service, as ratios to these candidates. */
export function ratioTable({ candidates, cpu, starts }: OwnCosts, bases: string[]): string {
  const service = indexOf(candidates, SERVICE);
  const rows = bases.map((name) => {
    const base = indexOf(candidates, name);
    return [
      name,
      ...(cpu[service] ?? []).map((rounds, r) => ratio(rounds, cpu[base]?.[r])),
      ratio(starts[service]?.milliseconds, starts[base]?.milliseconds),
      ratio(starts[service]?.cpuMilliseconds, starts[base]?.cpuMilliseconds),
    ];
  });
  return table(["", ...NAMES, "start", "CPU of a start"], rows);
}

/** Sizes and starts of each candidate, and starts as a ratio to the floor. */
export function startTable({ candidates, starts }: OwnCosts): string {
  const floor = starts[indexOf(candidates, FLOOR)];
  return table(
    ["", "bundle, KiB gzip", "start, ms", "CPU of a start, ms"],
    candidates.map(({ name, gzip }, c) => {
      const { milliseconds, cpuMilliseconds } = starts[c] ?? { milliseconds: [], cpuMilliseconds: [] };
      return [
        name,
        (gzip / 1024).toFixed(1),
        `${withSpread(milliseconds, 1)} ${ratio(milliseconds, floor?.milliseconds)}`,
        `${withSpread(cpuMilliseconds, 1)} ${ratio(cpuMilliseconds, floor?.cpuMilliseconds)}`,
      ];
    }),
  );
}

function indexOf(candidates: Candidate[], name: string): number {
  return candidates.findIndex((candidate) => candidate.name === name);
}

export function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function withQuartiles({ low, median, high }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}

/** The 10th percentile, and in brackets the median and the 75th. */
function withSpread(values: number[], digits: number): string {
  const { p10, median, high } = spread(values);
  return `${p10.toFixed(digits)} (${median.toFixed(digits)}, ${high.toFixed(digits)})`;
}

/** Of the 10th percentiles. */
export function ratio(values: number[] = [], bases: number[] = []): string {
  return `×${(spread(values).p10 / spread(bases).p10).toFixed(2)}`;
}
