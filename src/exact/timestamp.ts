/** A date-time of RFC 3339, section 5.6. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt]((?:[01]\d|2[0-3]):\d{2}:\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;
/** The length of `.123`: a JavaScript time drops further decimals. */
const DECIMALS = 4;
/** The length of `2026-11-22T09:30:00.000Z`. Years before 0 and after 9999 are longer. */
const LENGTH = 24;

/** The same time in UTC, truncated to milliseconds. Returns undefined for an invalid time. Leap seconds are not accepted. */
export function toTimestamp(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const [, date, time, decimals = "", offset] = DATE_TIME.exec(value) ?? [];
  if (date === undefined || !isDate(date)) return undefined;
  const milliseconds = Date.parse(`${date}T${time}${decimals.slice(0, DECIMALS)}${offset?.toUpperCase()}`);
  if (Number.isNaN(milliseconds)) return undefined;
  const timestamp = new Date(milliseconds).toISOString();
  return timestamp.length === LENGTH ? timestamp : undefined;
}

/** The first and the last time that sort as texts among the others. */
export const FIRST = "0000-01-01T00:00:00.000Z";
export const LAST = "9999-12-31T23:59:59.999Z";

/** A timestamp that is later by so many milliseconds, and not after `LAST`. One before `FIRST` begins with a minus, which sorts before it. */
export const shifted = (timestamp: string, milliseconds: number): string =>
  new Date(Math.min(Date.parse(timestamp) + milliseconds, Date.parse(LAST))).toISOString();

/** Date.parse reads 30 February as 2 March. */
function isDate(date: string): boolean {
  const milliseconds = Date.parse(date);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString().startsWith(date);
}
