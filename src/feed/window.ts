import { and, eq, gte, lte, or, type Placeholder, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SelectedFields } from "drizzle-orm/sqlite-core";
import { plannedOnce } from "../db/page.ts";
import type { QueryBuilder } from "../db/statement.ts";
import { eventBody, placeOfEvent } from "./place.ts";
import { events } from "./table.ts";

/** What an event is about: its resource and its id. Exact: JSON.parse would round a large id. */
export const resourceOfEvent = sql<string>`substr(${events.type}, 1, instr(${events.type}, '.')) || (${events.data} ->> 'id')`;

interface Window<Columns> {
  /** SQL for the id of its first row. */
  first: SQLWrapper;
  /** SQL for whether an event is wanted. */
  isWanted: SQL | undefined;
  limit: Placeholder<string, number>;
  /** Rows that the query reads at most, also when it wants none of them. It bounds the cost of a type that is rare. */
  size: number;
  columns: Columns;
}

/**
 * The wanted rows in a window of ids, and beside them its first and its last row, which have an event only if they are wanted. It reads
 * the rows once, and none after the limit. Ids have no gaps, so a window of ids is one of rows.
 */
export function windowOfFeed<Columns extends SelectedFields>(
  db: QueryBuilder,
  { first, isWanted, limit, size, columns }: Window<Columns>,
) {
  const end = sql`${first} + ${sql.raw(String(size))}`;
  const last = sql`(SELECT max(${events.id}) FROM ${events} WHERE ${events.id} <= ${end})`;
  return db
    .select({
      place: placeOfEvent.as("place"),
      event: sql<string | null>`iif(${isWanted}, ${eventBody}, NULL)`.as("event"),
      // Whether the feed goes on after the window.
      later: sql<0 | 1>`EXISTS (SELECT 1 FROM ${events} WHERE ${events.id} > ${end})`.as("later"),
      ...columns,
    })
    .from(events)
    .where(and(gte(events.id, first), lte(events.id, end), or(isWanted, eq(events.id, first), eq(events.id, last))))
    .orderBy(events.id)
    .limit(plannedOnce(limit));
}
