import { eq, type SQL, sql } from "drizzle-orm";
import { now } from "../db/clock.ts";
import type { Resource } from "../db/resource.ts";
import { compileConsequence, type IfChanged } from "../db/sequence.ts";
import type { Parameter, QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { events, type EventType } from "./table.ts";

/**
 * The INSERT of one event for each selected row. It belongs to the transaction of the change: neither exists without the other.
 *
 * @param where selects the rows, under the condition that they changed.
 * @param more of a change that the row does not show: SQL for its body and its version after the change, or for all rows after it,
 *   under the name of the table.
 */
export function insertEvents(
  db: QueryBuilder,
  type: EventType,
  { table, body }: Resource<unknown>,
  where: SQL | undefined,
  {
    data = body(),
    version = sql`${table.version}`,
    from = sql`${table}`,
  }: { data?: SQL<string>; version?: SQL; from?: SQL } = {},
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
  return db.insert(events).select(db.select(event).from(from).where(where).orderBy(table.id));
}

/** The event of the row in the parameter `id`, after the statement that changed it. */
export const compileEvent = (type: EventType, resource: Resource<unknown>) =>
  compileEventOf(type, resource, (_db, parameter: Parameter<{ id: Int64 }>) => sql`${parameter("id")}`);

/**
 * The event of another row.
 *
 * @param idOf SQL for its id.
 */
export const compileEventOf = <Parameters extends object>(
  type: EventType,
  resource: Resource<unknown>,
  idOf: (db: QueryBuilder, parameter: Parameter<Parameters>) => SQL,
) =>
  compileConsequence((db, parameter: Parameter<Parameters>, ifChanged: IfChanged) =>
    insertEvents(db, type, resource, eq(resource.table.id, ifChanged(idOf(db, parameter)))),
  );
