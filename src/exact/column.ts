import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { customType } from "drizzle-orm/sqlite-core";
import type { Int64 } from "./int64.ts";

/**
 * An INTEGER column that holds the whole int64 range. It is written from decimal text, which SQLite's column affinity
 * turns into the exact integer; D1 would round a bigint column on the way out, so it is read through `exact()`.
 */
export const int64 = customType<{ data: Int64; driverData: string }>({ dataType: () => "integer" });

/**
 * The rule of a text column, for writers that do not come through the API. Bytes, because SQLite's length() of a text stops at the
 * first NUL: a character is at most four bytes of UTF-8.
 */
export function isTextOf(column: SQLWrapper, minBytes: number, maxCharacters: number): SQL {
  const bounds = sql.raw(`${minBytes} AND ${4 * maxCharacters}`);
  return sql`typeof(${column}) = 'text' AND length(CAST(${column} AS BLOB)) BETWEEN ${bounds}`;
}

/** Reads an INTEGER to the last digit. D1 returns integers as JavaScript numbers, exact only up to 2^53. */
export function exact(column: SQLWrapper) {
  return sql<Int64>`CAST(${column} AS TEXT)`;
}
