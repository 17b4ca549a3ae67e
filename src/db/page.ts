import { asc, gt, type SQL, sql } from "drizzle-orm";
import { type SelectedFields, type SQLiteColumn, type SQLiteTable, unionAll } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../exact/int64.ts";
import type { QueryBuilder } from "./statement.ts";

/** The placeholders of a page: the id that it begins after, and how many rows it has at most. */
export interface Bounds extends Record<string, unknown> {
  after: Int64;
  limit: number;
}

type Table = SQLiteTable & { id: SQLiteColumn };

const parameter = sql.placeholder;

/** The condition that the page begins after the placeholder `after`. */
export function after({ id }: Table): SQL {
  return gt(id, parameter("after"));
}

/** The rows that meet a condition, in the order of their ids, as many as the placeholder `limit` says. */
export function page(db: QueryBuilder, table: Table, columns: SelectedFields, where: SQL | undefined) {
  return db.select(columns).from(table).where(where).orderBy(asc(table.id)).limit(parameter("limit"));
}

/**
 * The same for the rows that meet one of several conditions that exclude each other. SQLite merges them when an index has the rows of
 * each in the order of ids: it reads one row of each ahead.
 */
export function mergedPage(
  db: QueryBuilder,
  table: Table,
  columns: SelectedFields,
  [first, second, ...others]: [SQL | undefined, SQL | undefined, ...(SQL | undefined)[]],
) {
  const part = (where: SQL | undefined) =>
    db
      // `position` is the id as a number: `id` is text, and would order as such.
      .select({ ...columns, position: sql`${table.id}`.as("position") })
      .from(table)
      .where(where);
  return unionAll(part(first), part(second), ...others.map(part))
    .orderBy(sql`position`)
    .limit(parameter("limit"));
}
