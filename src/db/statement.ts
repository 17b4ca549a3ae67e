import { fillPlaceholders, type Query, type SQLWrapper, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Int64 } from "../int64.ts";

/**
 * Drizzle as the compiler of our SQL: it is bound to no database, so what it builds can only be compiled. Building a query
 * costs about as much as all the rest of a request, so each one is built once per isolate, when its module loads.
 */
export const queryBuilder = drizzle({} as D1Database);

/** SQL with the values for its `?`. */
export interface Statement<Row> {
  readonly sql: string;
  readonly values: unknown[];
  /** Never set; it carries the type of a row, with the columns by name, as D1 returns them. */
  readonly row?: Row;
}

/**
 * Compiles a drizzle query whose inputs are `sql.placeholder()`s.
 *
 * @typeParam Parameters the placeholders by name, with the type of value each takes.
 * @typeParam Row what the query returns.
 */
export function compile<Parameters extends Record<string, unknown>, Row>(query: {
  toSQL(): Query;
}): (parameters: Parameters) => Statement<Row> {
  const { sql: text, params } = query.toSQL();
  return (parameters) => ({ sql: text, values: fillPlaceholders(params, parameters) });
}

/** Reads an INTEGER to the last digit. D1 returns integers as JavaScript numbers, exact only up to 2^53. */
export function exact(column: SQLWrapper) {
  return sql<Int64>`CAST(${column} AS TEXT)`;
}
