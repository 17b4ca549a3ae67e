import { fillPlaceholders, type Query, type SQLWrapper, sql } from "drizzle-orm";
import {
  QueryBuilder,
  SQLiteDeleteBase,
  SQLiteInsertBuilder,
  SQLiteSyncDialect,
  type SQLiteTable,
} from "drizzle-orm/sqlite-core";
import type { Int64 } from "../int64.ts";

const dialect = new SQLiteSyncDialect();
// What is built here is compiled, and never run by drizzle.
const noSession = undefined as never;
const selects = new QueryBuilder(dialect);

/**
 * Drizzle as the compiler of our SQL. Building a query costs about as much as all the rest of a request, so each one is built
 * once per isolate. The builders stand alone: `drizzle()` would bring everything that runs queries into the
 * bundle, a tenth of it.
 */
export const queryBuilder = {
  select: selects.select.bind(selects),
  insert: <Table extends SQLiteTable>(table: Table) =>
    new SQLiteInsertBuilder<Table, "async", unknown>(table, noSession, dialect),
  delete: <Table extends SQLiteTable>(table: Table) =>
    new SQLiteDeleteBase<Table, "async", unknown>(table, noSession, dialect),
};

/** SQL with the values for its `?`. */
export interface Statement<Row> {
  readonly sql: string;
  readonly values: unknown[];
  /** Never set; it carries the type of a row, with the columns by name, as D1 returns them. */
  readonly row?: Row;
}

/**
 * A drizzle query, compiled when an isolate first needs it: most never need them all, and a cold start would wait for them. Its
 * inputs are `sql.placeholder()`s.
 *
 * @typeParam Parameters the placeholders by name, with the type of value each takes.
 * @typeParam Row what the query returns.
 */
export function compile<Parameters extends Record<string, unknown>, Row>(
  build: () => {
    toSQL(): Query;
  },
): (parameters: Parameters) => Statement<Row> {
  let compiled: Query | undefined;
  return (parameters) => {
    compiled ??= build().toSQL();
    return { sql: compiled.sql, values: fillPlaceholders(compiled.params, parameters) };
  };
}

/** Reads an INTEGER to the last digit. D1 returns integers as JavaScript numbers, exact only up to 2^53. */
export function exact(column: SQLWrapper) {
  return sql<Int64>`CAST(${column} AS TEXT)`;
}
