import { fillPlaceholders, type Query } from "drizzle-orm";
import { BaseSQLiteDatabase, SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";
import { lazy } from "../lazy.ts";

/** Drizzle without a connection: it builds queries, and D1 runs them in the session of the request. */
const builder = lazy(
  () => new BaseSQLiteDatabase<"async", unknown>("async", new SQLiteAsyncDialect(), undefined as never, undefined),
);
export type QueryBuilder = ReturnType<typeof builder>;

/** SQL with the values for its `?`. */
export interface Statement<Row> {
  readonly sql: string;
  readonly values: unknown[];
  /** Never set; it carries the type of a row, with the columns by name, as D1 returns them. */
  readonly row?: Row;
}

/**
 * A drizzle query, compiled on first use and once per isolate: building a query costs about as much as all the rest of a request.
 * Its inputs are `sql.placeholder()`s.
 *
 * @typeParam Parameters the placeholders by name, with the type of value each takes.
 * @typeParam Row what the query returns.
 */
export function compile<Parameters extends Record<string, unknown>, Row>(
  build: (db: QueryBuilder) => { toSQL(): Query },
): (parameters: Parameters) => Statement<Row> {
  const compiled = lazy(() => build(builder()).toSQL());
  return (parameters) => {
    const { sql, params } = compiled();
    return { sql, values: fillPlaceholders(params, parameters) };
  };
}
