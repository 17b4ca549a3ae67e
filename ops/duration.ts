import { InvalidArgumentError } from "commander";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const DURATION = "90d, 12h, 30m or 45s";

/** The value of an option, in milliseconds. @throws InvalidArgumentError */
export function toDuration(value: string): number {
  const duration = parseDuration(value);
  if (duration === undefined) throw new InvalidArgumentError(`A duration is a number and a unit: ${DURATION}.`);
  return duration;
}

/** Milliseconds, or undefined when the text is not a duration. */
export function parseDuration(value: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  return count === undefined || unit === undefined ? undefined : Number(count) * UNITS[unit as keyof typeof UNITS];
}
