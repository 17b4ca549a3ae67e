import { sql } from "drizzle-orm";

/** The time of the database in RFC 3339, in UTC, with milliseconds: texts of equal length, which sort in order of time. */
export const now = sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

/** The same in milliseconds since the epoch. */
export const nowMilliseconds = sql<number>`CAST(round(unixepoch('subsec') * 1000) AS INTEGER)`;
