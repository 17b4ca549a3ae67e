import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";
import { BASELINES, FLOOR, PETS_ALONE } from "./candidates.ts";
import { OWN_COST_METHOD, type OwnCost } from "./own-cost.ts";
import { REQUESTS, REQUESTS_TO_SERVICE } from "./requests.ts";
import { WORKERD } from "./server.ts";
import { spread } from "./spread.ts";
import { LATENCY_METHOD, LATENCY_REQUESTS, type Latency } from "./latency.ts";

/** Markdown of CPU, start and size. */
export function reportOwnCosts(costs: OwnCost[]): string {
  const kinds = [...REQUESTS, ...REQUESTS_TO_SERVICE].map(({ name }) => name);
  const [ours, ...others] = costs;
  const floor = costs.find(({ candidate }) => candidate.name === FLOOR);
  const petsAlone = costs.find(({ candidate }) => candidate.name === PETS_ALONE);
  return `${OWN_COST_METHOD}

Each figure is the 10th percentile of the rounds or starts. The median and the 75th percentile follow in brackets.
Other programs on the machine only add to a figure, and they add least to the fastest rounds. So each × is a ratio of 10th percentiles.

### CPU of a request

CPU of the whole process (user and system) in microseconds. × is the ratio to the hand-written Worker.

${table(
  ["", ...kinds],
  costs.map(({ candidate, cpu }) => [
    candidate.name,
    ...kinds.map((_, kind) => `${withSpread(cpu[kind], 0)} ${ratio(cpu[kind], floor?.cpu[kind])}`),
  ]),
)}

### Size and start

× is the ratio to the hand-written Worker.

${table(
  ["", "bundle, KiB gzip", "start, ms", "CPU of a start, ms"],
  costs.map(({ candidate: { name, gzip }, starts, startCpu }) => [
    name,
    (gzip / 1024).toFixed(1),
    `${withSpread(starts, 1)} ${ratio(starts, floor?.starts)}`,
    `${withSpread(startCpu, 1)} ${ratio(startCpu, floor?.startCpu)}`,
  ]),
)}

The start may not grow with the operations.
It takes ${ratio(ours?.starts, petsAlone?.starts)} the time and ${ratio(ours?.startCpu, petsAlone?.startCpu)} the CPU of the start of the routes of the animals alone.

### This service as a ratio to others

${table(
  ["", ...kinds, "start", "CPU of a start"],
  others.map(({ candidate, cpu, starts, startCpu }) => [
    candidate.name,
    ...kinds.map((_, kind) => ratio(ours?.cpu[kind], cpu[kind])),
    ratio(ours?.starts, starts),
    ratio(ours?.startCpu, startCpu),
  ]),
)}
`;
}

/** The page bench/results.md. */
export function report(own: OwnCost[], latency: Latency[]): string {
  const workerd = execFileSync(WORKERD, ["--version"], { encoding: "utf8" }).trim();
  const processor = `${cpus().length} cores (${cpus()[0]?.model.trim()})`;
  return `# Benchmark

\`npm run bench\` writes this page. It compares the production bundle with other Workers on the same requests:

${table(
  ["name", "what it is"],
  [
    ["this service", "the production bundle, as `wrangler deploy` makes it"],
    ...Object.entries(BASELINES),
    [PETS_ALONE, "this service with the routes of the animals alone"],
  ],
)}

The machine: ${processor}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux, Node ${process.versions.node}, ${workerd}.

## CPU, start and size

Each Worker runs in its own workerd, without a proxy.
Its bindings are stubs in JavaScript. They repeat what the D1 of workerd returned for the same statements.

${reportOwnCosts(own)}
## Latency

The Workers run with the D1 and the KV of workerd. ${LATENCY_METHOD}
The simulation of D1 and KV takes nearly all of the time. On Cloudflare, the network takes its place.

${table(
  ["", ...LATENCY_REQUESTS.flatMap(({ name }) => [`${name}, p50, ms`, "p99, ms"])],
  latency.map(({ candidate, milliseconds }) => [
    candidate.name,
    ...milliseconds.map(spread).flatMap(({ median, p99 }) => [median.toFixed(1), p99.toFixed(1)]),
  ]),
)}
`;
}

export function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function withSpread(values: number[] | undefined, digits: number): string {
  if (values === undefined) return "";
  const { p10, median, p75 } = spread(values);
  return `${p10.toFixed(digits)} (${median.toFixed(digits)}, ${p75.toFixed(digits)})`;
}

/** Of the 10th percentiles. */
function ratio(values?: number[], bases?: number[]): string {
  return values && bases ? `×${(spread(values).p10 / spread(bases).p10).toFixed(2)}` : "";
}
