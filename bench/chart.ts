import { REQUESTS } from "./requests.ts";
import { spread } from "./spread.ts";
import type { OwnCosts } from "./tables.ts";

const COLOURS = ["#1a73e8", "#9aa0a6", "#3c4043", "#fbbc04", "#f9ab00", "#e8710a", "#d93025", "#dadce0"];
const BAR = { width: 18, gap: 4 };
const HEIGHT = 240;

/** An SVG of the CPU of each candidate for each request of `REQUESTS`, the 10th percentiles. */
export function chart({ candidates, cpu }: OwnCosts): string {
  const group = candidates.length * BAR.width + 40;
  const width = REQUESTS.length * group + 80;
  const microseconds = cpu.map((requests) => requests.map((rounds) => spread(rounds).p10));
  const most = Math.max(...microseconds.flat());
  const bars = REQUESTS.flatMap(({ name }, n) => [
    `<text x="${60 + n * group + (group - 40) / 2}" y="${HEIGHT + 60}" text-anchor="middle">${name}</text>`,
    ...microseconds.map((values, c) => {
      const value = values[n] ?? 0;
      const tall = (value / most) * HEIGHT;
      const x = 60 + n * group + c * BAR.width;
      return `<rect x="${x}" y="${40 + HEIGHT - tall}" width="${BAR.width - BAR.gap}" height="${tall}" fill="${COLOURS[c]}"/><text x="${x + 7}" y="${36 + HEIGHT - tall}" text-anchor="middle" font-size="9">${value.toFixed(0)}</text>`;
    }),
  ]);
  const legend = candidates.map(
    ({ name }, c) =>
      `<rect x="${60 + c * 130}" y="${HEIGHT + 78}" width="12" height="12" fill="${COLOURS[c]}"/><text x="${78 + c * 130}" y="${HEIGHT + 89}">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT + 110}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="CPU microseconds a request">
<rect width="100%" height="100%" fill="#fff"/>
<text x="60" y="20" font-weight="bold">CPU, microseconds a request (less is better)</text>
${[...bars, ...legend].join("\n")}
</svg>
`;
}
