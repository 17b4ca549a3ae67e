import { asc, desc, gt, lt, type SQL, sql } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import { type SelectedFields, type SQLiteColumn, type SQLiteTable, unionAll } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../exact/int64.ts";
import type { Built, Parameter, QueryBuilder } from "./statement.ts";

/** The orders of a list: by id, ascending or descending. */
export const SORTS = ["id", "-id"] as const;
export type Sort = (typeof SORTS)[number];

/** The parameters of a page: the id that precedes it in its order, and its maximum number of rows. */
export interface Bounds {
  after: Int64;
  limit: number;
}

type Table = SQLiteTable & { id: SQLiteColumn };

/** The rows of a query for these columns. Drizzle cannot infer them while the columns are a type parameter. */
type Rows<Columns> = Built<SelectResultFields<Columns>[]>;

/** The same statements for each order of a list. */
export function inEachOrder<Statements>(build: (sort: Sort) => Statements): { [sort in Sort]: Statements } {
  return { id: build("id"), "-id": build("-id") };
}

/** The condition that the page begins after the parameter `after`. */
export function after({ id }: Table, parameter: Parameter<Pick<Bounds, "after">>, sort: Sort): SQL {
  return sort === "id" ? gt(id, parameter("after")) : lt(id, parameter("after"));
}

/** The rows that meet a condition, in the order of their ids, limited by the parameter `limit`. */
export function page<Columns extends SelectedFields>(
  db: QueryBuilder,
  parameter: Parameter<Pick<Bounds, "limit">>,
  table: Table,
  columns: Columns,
  where: SQL | undefined,
  sort: Sort,
): Rows<Columns> {
  const rows = db
    .select(columns as SelectedFields)
    .from(table)
    .where(where)
    .orderBy(sort === "id" ? asc(table.id) : desc(table.id))
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
  [first, second, ...others]: readonly [SQL | undefined, SQL | undefined, ...(SQL | undefined)[]],
  sort: Sort,
): Rows<Columns> {
  const part = (where: SQL | undefined) =>
    db
      // `position` is the id as a number. `id` is text and would sort as text.
      .select({ ...(columns as SelectedFields), position: sql`${table.id}`.as("position") })
      .from(table)
      .where(where);
  const rows = unionAll(part(first), part(second), ...others.map(part))
    .orderBy(sort === "id" ? sql`position` : sql`position DESC`)
    .limit(parameter("limit"));
  return rows as unknown as Rows<Columns>;
}
