import type { Placeholder, Query } from "drizzle-orm";
import type { BaseSQLiteDatabase } from "drizzle-orm/sqlite-core";
import { STATEMENTS } from "../../drizzle/statements.ts";
import { lazy } from "../lazy.ts";

export type QueryBuilder = Pick<BaseSQLiteDatabase<"async", unknown>, "select" | "insert" | "update" | "delete">;

/** SQL with the values for its `?`. */
export interface Statement<Row> {
  /** For the log. */
  readonly name: string;
  readonly sql: string;
  readonly values: unknown[];
  /** Never set. Carries the type of a row, with the columns by name, as D1 returns them. */
  readonly row?: Row;
}

/** Makes the placeholder of a parameter, by its name. Nothing else makes one: the build refuses it. */
export type Parameter<Parameters> = (name: keyof Parameters & string) => Placeholder;

/** A drizzle query: its compiled form and the type of its result. */
export type Built<Result> = { toSQL(): Query } & PromiseLike<Result>;

/** A row of a result. */
export type RowOf<Result> = Result extends readonly (infer Row)[] ? Row : never;

/** A parameter in the SQL of a statement. */
export const PARAMETER = /:(\w+)/g;

/** The SQL with `?` for each parameter, and the names of the parameters in their order. D1 binds by place only (its documentation, Prepared statements). */
function read(name: string): { sql: string; names: string[] } {
  const text = STATEMENTS[name];
  if (text === undefined) throw new Error(`The build has no statement ${name}`);
  return {
    sql: text.replace(PARAMETER, "?"),
    names: [...text.matchAll(PARAMETER)].map(([, parameter = ""]) => parameter),
  };
}

/**
 * A statement. The build writes the SQL of its query under its name (docs/decisions/first-use.md), which an isolate reads on first use. Call
 * it when the module is loaded, also through functions whose names begin with `compile`: the build fails for any other call.
 *
 * The type of `parameter` names the parameters, so that a placeholder of another name does not compile. The rows are those of
 * the query: D1 returns them by the names of their columns, so a field whose column has another name needs an alias.
 *
 * @param name says where it stands: the operation, and then what tells its statements apart. No other statement has it.
 * @param _build the query in drizzle. Only the build calls it.
 */
export function compile<Parameters extends object, Result>(
  name: string,
  _build: (db: QueryBuilder, parameter: Parameter<Parameters>) => Built<Result>,
): (parameters: Parameters) => Statement<RowOf<Result>> {
  const compiled = lazy(() => read(name));
  return (parameters) => {
    const { sql, names } = compiled();
    const values = names.map((parameter) => {
      const value = (parameters as { [name: string]: unknown })[parameter];
      if (value === undefined) throw new Error(`The parameter ${parameter} of ${name} has no value`);
      return value;
    });
    return { name, sql, values };
  };
}
