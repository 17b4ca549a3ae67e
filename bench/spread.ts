/** Of a series of measurements: what a tenth of them do not exceed, the quartiles, and what a hundredth exceed. */
export interface Spread {
  p10: number;
  low: number;
  median: number;
  high: number;
  p99: number;
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p10: at(0.1), low: at(0.25), median: at(0.5), high: at(0.75), p99: at(0.99) };
}
