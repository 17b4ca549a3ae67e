import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { type Built, compile, type Parameter, type QueryBuilder, type RowOf, type Statement } from "./statement.ts";

/** A statement whose condition asks what the one before it changed. Only `sequence` gives it one before it. */
export interface Consequence<Row = unknown> {
  readonly follows: Statement<Row>;
}

/** A value if the previous statement of the transaction changed this number of rows. Otherwise NULL, which nothing equals: no row is read. */
export type IfChanged = (value: SQLWrapper, count?: SQLWrapper) => SQL;
/** Any number of rows but none, for `IfChanged`. */
export const ANY_NUMBER = sql`max(changes(), 1)`;
const ifChanged: IfChanged = (value, count = sql`1`) => sql`iif(changes() = ${count}, ${value}, NULL)`;

/** Compiles a consequence. Its condition compares with `ifChanged`. */
export function compileConsequence<Parameters extends object, Result>(
  build: (db: QueryBuilder, parameter: Parameter<Parameters>, ifChanged: IfChanged) => Built<Result>,
): (parameters: Parameters) => Consequence<RowOf<Result>> {
  const compiled = compile((db, parameter: Parameter<Parameters>) => build(db, parameter, ifChanged));
  return (parameters) => ({ follows: compiled(parameters) });
}

/**
 * A change and what follows from it, in the order in which a transaction has to run them: `changes()` and `last_insert_rowid()` of SQLite
 * tell of the statement just before. After one that changed nothing, the next ones change nothing either. The entry of a patch is the
 * exception: it is also stored when there was nothing to change. So it is the last one, or what follows would take effect.
 */
export function sequence<Row, Rows extends unknown[]>(
  change: Statement<Row>,
  ...consequences: { [Index in keyof Rows]: Consequence<Rows[Index]> }
): [Statement<Row>, ...{ [Index in keyof Rows]: Statement<Rows[Index]> }] {
  return [change, ...(consequences.map(({ follows }) => follows) as { [Index in keyof Rows]: Statement<Rows[Index]> })];
}
