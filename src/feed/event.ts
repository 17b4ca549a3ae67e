import { type SQL, sql } from "drizzle-orm";
import { now } from "../db/clock.ts";
import type { Resource } from "../db/resource.ts";
import type { QueryBuilder } from "../db/statement.ts";
import { events, type EventType } from "./table.ts";

/** An event as clients see it. */
export interface PetStoreEvent {
  /** Ascends with the feed. */
  id: string;
  type: EventType;
  timestamp: string;
  version: number;
  data: object;
}

/** A page of the feed. */
export interface EventPage {
  events: PetStoreEvent[];
  cursor: string;
  more: boolean;
}

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
