/** Percentiles of a series of measurements. */
export function spread(values: number[]): { p10: number; median: number; p99: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p10: at(0.1), median: at(0.5), p99: at(0.99) };
}
