const SECOND = 1_000;

export const LONGEST_RETRY_AFTER = 24 * 3_600 * SECOND;
/** Characters. The longest date has 33. */
const LONGEST_HEADER = 64;

const SECONDS = /^\d+$/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** An HTTP-date in its three forms: IMF-fixdate, of RFC 850, and of C's asctime (RFC 9110, section 5.6.7). */
const DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d) (?<year>\d{4})$/,
];

/**
 * Milliseconds that a `Retry-After` asks for, up to `LONGEST_RETRY_AFTER`: as seconds or as a date (RFC 9110, section 10.2.3).
 * 0 for any other text, and for a time in the past.
 */
export function retryAfterOf(header: string | null, now: number): number {
  if (header === null || header.length > LONGEST_HEADER) return 0;
  const milliseconds = SECONDS.test(header) ? Number(header) * SECOND : (timeOf(header, now) ?? now) - now;
  return Math.min(Math.max(milliseconds, 0), LONGEST_RETRY_AFTER);
}

/** Milliseconds since the epoch. Undefined for another text, and for a date that no calendar has. The name of the day is not compared. */
function timeOf(text: string, now: number): number | undefined {
  const parts = DATES.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return undefined;
  const [month, day] = [MONTHS.indexOf(parts["month"] ?? ""), Number(parts["day"])];
  const [hour, minute, second] = [Number(parts["hour"]), Number(parts["minute"]), Number(parts["second"])];
  const midnight = Date.UTC(yearOf(parts["year"] ?? "", now), month, day);
  // A leap second is the 60th.
  if (month === -1 || new Date(midnight).getUTCDate() !== day || hour > 23 || minute > 59 || second > 60)
    return undefined;
  return midnight + ((hour * 60 + minute) * 60 + second) * SECOND;
}

/** A year of two digits is the last one with these digits that is at most 50 years ahead. */
function yearOf(digits: string, now: number): number {
  const latest = new Date(now).getUTCFullYear() + 50;
  return digits.length === 4 ? Number(digits) : latest - ((latest - Number(digits)) % 100);
}
