import { asc, desc, gt, lt, type Placeholder, type SQL, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../exact/int64.ts";
import { type Resource, type Stored, storedColumns, type Versioned } from "./resource.ts";
import type { Built, Parameter, QueryBuilder } from "./statement.ts";

/** The orders of a list: by id, ascending or descending. */
export const SORTS = ["id", "-id"] as const;
export type Sort = (typeof SORTS)[number];

/** The parameters of a page: the id that precedes it in its order, and its maximum number of rows. */
export interface Bounds {
  after: Int64;
  limit: number;
}

/** The rows of a query for a page. */
type Rows<Body> = Built<Stored<Body>[]>;

/** The same statements for each order of a list. */
export function inEachOrder<Statements>(build: (sort: Sort) => Statements): { [sort in Sort]: Statements } {
  return { id: build("id"), "-id": build("-id") };
}

/** The condition that the page begins after the parameter `after`. */
export function after({ id }: Versioned, parameter: Parameter<Pick<Bounds, "after">>, sort: Sort): SQL {
  return sort === "id" ? gt(id, parameter("after")) : lt(id, parameter("after"));
}

/** SQLite plans with the value of a parameter that is the whole limit, and so compiles the statement again for each value that is bound. */
export const plannedOnce = (limit: Placeholder) => sql`CAST(${limit} AS INTEGER)` as unknown as Placeholder;

/** The rows that meet a condition, in the order of their ids, limited by the parameter `limit`. */
export function page<Body>(
  db: QueryBuilder,
  parameter: Parameter<Pick<Bounds, "limit">>,
  resource: Resource<Body>,
  where: SQL | undefined,
  sort: Sort,
): Rows<Body> {
  const { table } = resource;
  const rows = db
    .select(storedColumns(resource))
    .from(table)
    .where(where)
    .orderBy(sort === "id" ? asc(table.id) : desc(table.id))
    .limit(plannedOnce(parameter("limit")));
  return rows as unknown as Rows<Body>;
}

/**
 * The same for the rows that meet one of several mutually exclusive conditions. When an index holds the rows of each in the
 * order of ids, SQLite merges them and reads only one row of each ahead.
 *
 * There are at most five: the build fails for a sixth, which D1 refuses (docs/standards.md).
 */
export function mergedPage<Body>(
  db: QueryBuilder,
  parameter: Parameter<Pick<Bounds, "limit">>,
  resource: Resource<Body>,
  [first, second, ...others]: readonly [SQL | undefined, SQL | undefined, ...(SQL | undefined)[]],
  sort: Sort,
): Rows<Body> {
  const { table } = resource;
  const part = (where: SQL | undefined) =>
    db
      // `position` is the id as a number. `id` is text and would sort as text.
      .select({ ...storedColumns(resource), position: sql`${table.id}`.as("position") })
      .from(table)
      .where(where);
  const rows = unionAll(part(first), part(second), ...others.map(part))
    .orderBy(sort === "id" ? sql`position` : sql`position DESC`)
    .limit(plannedOnce(parameter("limit")));
  return rows as unknown as Rows<Body>;
}
