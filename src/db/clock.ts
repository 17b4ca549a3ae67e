import { sql } from "drizzle-orm";

/** The time of the database in RFC 3339, in UTC, with milliseconds: texts of equal length, which sort in order of time. */
export const now = sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;
