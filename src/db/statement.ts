import { fillPlaceholders, type Query, type SQLWrapper, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Int64 } from "../int64.ts";

/**
 * Drizzle as the compiler of our SQL: it is bound to no database, so what it builds can only be compiled. Building a query
 * costs about as much as all the rest of a request, so each one is built once per isolate, when its module loads.
 */
export const queryBuilder = drizzle({} as D1Database);

/** A query as SQL with its parameters by name, ready to be bound to the D1 session of a request. `Row` is what it returns. */
export interface Statement<Parameters extends Record<string, unknown>, Row> {
  readonly sql: string;
  /** The values in the order of the `?` in `sql`. */
  bind(parameters: Parameters): unknown[];
  /** Never set; it carries the type of a row. */
  readonly row?: Row;
}

/**
 * Compiles a drizzle query whose inputs are `sql.placeholder()`s.
 *
 * @typeParam Parameters the placeholders by name, with the type of value each takes.
 * @typeParam Row the columns of the result by name, as D1 returns them.
 */
export function compile<Parameters extends Record<string, unknown>, Row>(query: {
  toSQL(): Query;
}): Statement<Parameters, Row> {
  const { sql: text, params } = query.toSQL();
  return { sql: text, bind: (parameters) => fillPlaceholders(params, parameters) };
}

/** Reads an INTEGER to the last digit. D1 returns integers as JavaScript numbers, exact only up to 2^53. */
export function exact(column: SQLWrapper) {
  return sql<Int64>`CAST(${column} AS TEXT)`;
}
