const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

export const LONGEST_RETRY_AFTER = DAY;
/** Characters. The longest date has 33. */
const LONGEST_HEADER = 64;

const SECONDS = /^\d+$/;
const DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun";
const MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
const TIME = "(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)";
/** An HTTP-date in its three forms: IMF-fixdate, of RFC 850, and of C's asctime (RFC 9110, section 5.6.7). */
const DATES = [
  `(?:${DAYS}), (?<day>\\d\\d) (?<month>${MONTHS}) (?<year>\\d{4}) ${TIME} GMT`,
  `(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-(?<month>${MONTHS})-(?<year>\\d\\d) ${TIME} GMT`,
  `(?:${DAYS}) (?<month>${MONTHS}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

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
  const { month = "", hour, minute, second } = parts;
  const day = Number(parts["day"]);
  const midnight = Date.UTC(yearOf(parts["year"] ?? "", now), MONTHS.split("|").indexOf(month), day);
  if (new Date(midnight).getUTCDate() !== day) return undefined;
  return midnight + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * SECOND;
}

/** A year of two digits is the last one with these digits that is at most 50 years ahead. */
function yearOf(digits: string, now: number): number {
  const latest = new Date(now).getUTCFullYear() + 50;
  return digits.length === 4 ? Number(digits) : latest - ((latest - Number(digits)) % 100);
}
