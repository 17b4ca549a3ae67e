/** Quartiles, and the 99th percentile. */
export interface Spread {
  low: number;
  median: number;
  high: number;
  p99: number;
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { low: at(0.25), median: at(0.5), high: at(0.75), p99: at(0.99) };
}
