import { eq, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { now } from "../db/clock.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Versioned } from "./memory.ts";
import { events, type EventType } from "./table.ts";

/**
 * The id of a row, if the previous statement of the transaction changed this number of rows. Otherwise NULL, which no id equals: no row
 * is read.
 */
export const ifChanged = (id: SQLWrapper, count: SQLWrapper = sql`1`): SQL =>
  sql`iif(changes() = ${count}, ${id}, NULL)`;

/**
 * The INSERT of one event for each selected row. It belongs to the transaction of the change: neither exists without the other.
 *
 * @param data SQL for the resource after the change.
 * @param where selects the rows, under the condition that they changed.
 * @param version after the change.
 */
export function insertEvents(
  db: QueryBuilder,
  type: EventType,
  table: Versioned,
  data: SQL<string>,
  where: SQL | undefined,
  version: SQL = sql`${table.version}`,
) {
  const event = {
    id: sql`NULL`.as("id"),
    tag: sql`random() & 4294967295`.as("tag"),
    type: sql`${sql.raw(`'${type}'`)}`.as("type"),
    version: version.as("version"),
    data: data.as("data"),
    createdAt: now.as("createdAt"),
  };
  // The ids of events ascend with those of their rows.
  return db.insert(events).select(db.select(event).from(table).where(where).orderBy(table.id));
}

/** The event of the row in the parameter `id`, after the statement that changed it. */
export const compileEvent = <Table extends Versioned>(type: EventType, table: Table, data: () => SQL<string>) =>
  compile((db, parameter: Parameter<{ id: Int64 }>) =>
    insertEvents(db, type, table, data(), eq(table.id, ifChanged(parameter("id")))),
  );
