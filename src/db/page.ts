import { asc, gt, type SQL, sql } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import { type SelectedFields, type SQLiteColumn, type SQLiteTable, unionAll } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../exact/int64.ts";
import type { Built, Parameter, QueryBuilder } from "./statement.ts";

/** The parameters of a page: the id that precedes it, and its maximum number of rows. */
export interface Bounds {
  after: Int64;
  limit: number;
}

type Table = SQLiteTable & { id: SQLiteColumn };

/** The rows of a query for these columns. Drizzle cannot infer them while the columns are a type parameter. */
type Rows<Columns> = Built<SelectResultFields<Columns>[]>;

/** The condition that the page begins after the parameter `after`. */
export function after({ id }: Table, parameter: Parameter<Pick<Bounds, "after">>): SQL {
  return gt(id, parameter("after"));
}

/** The rows that meet a condition, in ascending order of id, limited by the parameter `limit`. */
export function page<Columns extends SelectedFields>(
  db: QueryBuilder,
  parameter: Parameter<Pick<Bounds, "limit">>,
  table: Table,
  columns: Columns,
  where: SQL | undefined,
): Rows<Columns> {
  const rows = db
    .select(columns as SelectedFields)
    .from(table)
    .where(where)
    .orderBy(asc(table.id))
    .limit(parameter("limit"));
  return rows as unknown as Rows<Columns>;
}

/**
 * The same for the rows that meet one of several mutually exclusive conditions. When an index holds the rows of each in the
 * order of ids, SQLite merges them and reads only one row of each ahead.
 */
export function mergedPage<Columns extends SelectedFields>(
  db: QueryBuilder,
  parameter: Parameter<Pick<Bounds, "limit">>,
  table: Table,
  columns: Columns,
  [first, second, ...others]: [SQL | undefined, SQL | undefined, ...(SQL | undefined)[]],
): Rows<Columns> {
  const part = (where: SQL | undefined) =>
    db
      // `position` is the id as a number. `id` is text and would sort as text.
      .select({ ...(columns as SelectedFields), position: sql`${table.id}`.as("position") })
      .from(table)
      .where(where);
  const rows = unionAll(part(first), part(second), ...others.map(part))
    .orderBy(sql`position`)
    .limit(parameter("limit"));
  return rows as unknown as Rows<Columns>;
}
