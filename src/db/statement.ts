import { fillPlaceholders, type Placeholder, type Query, type SQL, sql } from "drizzle-orm";
import {
  type BaseSQLiteDatabase,
  SQLiteAsyncDialect,
  SQLiteDeleteBase,
  SQLiteInsertBuilder,
  SQLiteSelectBuilder,
  SQLiteUpdateBuilder,
} from "drizzle-orm/sqlite-core";
import { lazy } from "../lazy.ts";

export type QueryBuilder = Pick<BaseSQLiteDatabase<"async", unknown>, "select" | "insert" | "update" | "delete">;

/**
 * Names the table of each selected column. Drizzle leaves it out when there is one table, and SQLite then takes the name of a column that an
 * instance lacks for a text (sqlite.org/quirks.html, section 8): a replica without a migration would return it as the value.
 */
function qualifyingDialect(): SQLiteAsyncDialect {
  const dialect = new SQLiteAsyncDialect();
  // Private in drizzle's types. Its second parameter leaves the table out.
  const methods = dialect as unknown as { buildSelection: (fields: unknown) => SQL };
  const buildSelection = methods.buildSelection.bind(dialect);
  methods.buildSelection = (fields) => buildSelection(fields);
  return dialect;
}

/**
 * Drizzle without a connection: it builds queries, and D1 runs them in the session of the request. Made of the builders alone, because
 * drizzle's class of a database brings relational queries, transactions and caches into the bundle.
 */
const builder = lazy(() => {
  const dialect = qualifyingDialect();
  const session = undefined as never;
  return {
    select: (fields: never) => new SQLiteSelectBuilder({ fields, session, dialect }),
    insert: (table: never) => new SQLiteInsertBuilder(table, session, dialect),
    update: (table: never) => new SQLiteUpdateBuilder(table, session, dialect),
    delete: (table: never) => new SQLiteDeleteBase(table, session, dialect),
  } as unknown as QueryBuilder;
});

/** SQL with the values for its `?`. */
export interface Statement<Row> {
  readonly sql: string;
  readonly values: unknown[];
  /** Never set. Carries the type of a row, with the columns by name, as D1 returns them. */
  readonly row?: Row;
}

/** Makes the placeholder of a parameter, by its name. */
export type Parameter<Parameters> = <Name extends keyof Parameters & string>(
  name: Name,
) => Placeholder<Name, Parameters[Name]>;

/** A drizzle query: its compiled form and the type of its result. */
export type Built<Result> = { toSQL(): Query } & PromiseLike<Result>;

/** A row of a result. */
export type RowOf<Result> = Result extends readonly (infer Row)[] ? Row : never;

/**
 * A drizzle query. The build writes its SQL (docs/decisions/first-use.md), which an isolate looks up on first use. Call it when the module is
 * loaded, or in `lazy`: the build does not see any other call.
 *
 * The type of `parameter` names the parameters, so that a placeholder of another name does not compile. The rows are those of
 * the query: D1 returns them by the names of their columns, so a field whose column has another name needs an alias.
 */
export function compile<Parameters extends object, Result>(
  build: (db: QueryBuilder, parameter: Parameter<Parameters>) => Built<Result>,
): (parameters: Parameters) => Statement<RowOf<Result>> {
  const compiled = lazy(() => build(builder(), sql.placeholder).toSQL());
  return (parameters) => {
    const { sql: text, params } = compiled();
    return { sql: text, values: fillPlaceholders(params, parameters as Record<string, unknown>) };
  };
}
