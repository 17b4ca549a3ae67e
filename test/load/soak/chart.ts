import type { Figures, Sample } from "./figures.ts";

const WIDTH = 760;
const PANEL = { height: 150, left: 60, gap: 60, top: 50 };
const COLOURS = { line: "#1a73e8", trouble: "#fce8e6", axis: "#9aa0a6" };

/** An SVG of memory and latency over the time of the test. The time of the hostile load has another background. */
export function chart({ seconds, trouble, memory, memoryTrend, latency, title }: Figures): string {
  const x = (second: number) => PANEL.left + (second / seconds) * (WIDTH - PANEL.left - 20);
  const panels = [
    { title: `Memory of workerd, MiB: ${memoryTrend}`, samples: memory },
    { title: "99th percentile of the steady load's latency, ms", samples: latency },
  ];
  const height = PANEL.top + panels.length * (PANEL.height + PANEL.gap);
  const body = panels.flatMap(({ title, samples }, n) =>
    panel(title, samples, PANEL.top + n * (PANEL.height + PANEL.gap)),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="Memory and latency during the soak test">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${PANEL.left}" y="20" font-weight="bold">${title}</text>
${body.join("\n")}
</svg>
`;

  function panel(title: string, samples: Sample[], top: number): string[] {
    const most = Math.max(...samples.map(({ value }) => value)) * 1.1;
    const bottom = top + PANEL.height;
    const y = (value: number) => bottom - (value / most) * PANEL.height;
    const points = samples.map(({ second, value }) => `${x(second).toFixed(1)},${y(value).toFixed(1)}`);
    return [
      `<text x="${PANEL.left}" y="${top - 6}">${title}</text>`,
      `<rect x="${x(trouble.from)}" y="${top}" width="${x(trouble.to) - x(trouble.from)}" height="${PANEL.height}" fill="${COLOURS.trouble}"/>`,
      `<path d="M${PANEL.left},${top}V${bottom}H${WIDTH - 20}" fill="none" stroke="${COLOURS.axis}"/>`,
      `<text x="${PANEL.left - 6}" y="${bottom}" text-anchor="end">0</text>`,
      `<text x="${PANEL.left - 6}" y="${top + 10}" text-anchor="end">${most.toFixed(0)}</text>`,
      `<text x="${x(seconds)}" y="${bottom + 16}" text-anchor="end">${seconds.toFixed(0)} s</text>`,
      `<text x="${x((trouble.from + trouble.to) / 2)}" y="${bottom + 16}" text-anchor="middle">hostile clients</text>`,
      `<polyline points="${points.join(" ")}" fill="none" stroke="${COLOURS.line}" stroke-width="1.5"/>`,
    ];
  }
}
