import { writeFileSync } from "node:fs";
import { join } from "node:path";

interface Spread {
  low: number;
  median: number;
  high: number;
}
export interface Results {
  machine: string;
  versions: string;
  method: string;
  scenarios: string[];
  candidates: { name: string; gzip: number; start: Spread; cpu: Spread[] }[];
}

const FLOOR = "hand-written";

/** Prints the tables, and writes them and a chart beside this file. */
export function writeReport({ machine, versions, method, scenarios, candidates }: Results): void {
  const floor = candidates.find(({ name }) => name === FLOOR);
  if (floor === undefined) throw new Error("no floor");
  const ratio = (value: number, base: number) => `×${(value / base).toFixed(2)}`;
  const row = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const table = (head: string[], rows: string[][]) =>
    [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");

  const cpu = table(
    ["", ...scenarios],
    candidates.map(({ name, cpu: spreads }) => [
      name,
      ...spreads.map(
        ({ low, median, high }, i) =>
          `${median.toFixed(0)} (${low.toFixed(0)} to ${high.toFixed(0)}) ${ratio(median, floor.cpu[i]?.median ?? 0)}`,
      ),
    ]),
  );
  const rest = table(
    ["", "bundle, KiB gzip", "start to first answer, ms"],
    candidates.map(({ name, gzip, start }) => [
      name,
      (gzip / 1024).toFixed(1),
      `${start.median.toFixed(1)} (${start.low.toFixed(1)} to ${start.high.toFixed(1)}) ${ratio(start.median, floor.start.median)}`,
    ]),
  );
  const page = `# Benchmark

Written by \`npm run bench\`. ${machine}. ${versions}. ${method}. Medians, with the quartiles in brackets; × is the ratio to the hand-written Worker of the same run.

CPU of the workerd process (user and system), microseconds a request, with bindings stubbed in JavaScript:

${cpu}

${rest}
`;
  console.log(page);
  writeFileSync(join(import.meta.dirname, "results.md"), page);
  writeFileSync(join(import.meta.dirname, "results.svg"), chart(scenarios, candidates));
}

function chart(scenarios: string[], candidates: Results["candidates"]): string {
  const colours = ["#1a73e8", "#9aa0a6", "#f9ab00", "#e8710a", "#d93025"];
  const bar = { width: 18, gap: 4 };
  const group = candidates.length * bar.width + 40;
  const height = 240;
  const width = scenarios.length * group + 80;
  const most = Math.max(...candidates.flatMap(({ cpu }) => cpu.map(({ median }) => median)));
  const bars = scenarios.flatMap((scenario, s) => [
    `<text x="${60 + s * group + (group - 40) / 2}" y="${height + 60}" text-anchor="middle">${scenario}</text>`,
    ...candidates.map(({ cpu }, c) => {
      const value = cpu[s]?.median ?? 0;
      const tall = (value / most) * height;
      const x = 60 + s * group + c * bar.width;
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
