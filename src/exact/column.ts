import { type SQLWrapper, sql } from "drizzle-orm";
import { customType } from "drizzle-orm/sqlite-core";
import type { Int64 } from "./int64.ts";

/**
 * An INTEGER column that holds the whole int64 range. It is written as decimal text, which SQLite's column affinity converts to
 * the exact integer. It is read through `exact()`, because D1 rounds large integers in results (docs/standards.md).
 */
export const int64 = customType<{ data: Int64; driverData: string }>({ dataType: () => "integer" });

/** Reads an INTEGER exactly. D1 returns integers as JavaScript numbers, which are exact only up to 2^53. */
export function exact(column: SQLWrapper) {
  return sql<Int64>`CAST(${column} AS TEXT)`;
}
