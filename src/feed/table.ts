import type { Scope } from "../auth/scopes.ts";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** What an event reports. The list may grow. The part before the dot is the resource. */
export const EVENT_TYPES = [
  "pet.created",
  "pet.updated",
  "pet.deleted",
  "category.created",
  "category.updated",
  "category.deleted",
  "order.placed",
  "order.shipped",
  "order.cancelled",
  "order.updated",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The resource of a type, with the dot. */
export const resourceOf = (type: string): string => type.slice(0, type.indexOf(".") + 1);

/** The scope that the data of an event needs. */
export const scopeOf = (type: string): Scope => (type.startsWith("order.") ? "store:read" : "pets:read");

/**
 * The feed: an event for each change, in the order of the transactions. The scheduled job removes old ones. The table is never empty:
 * migration 0006 writes a first row, of the type `feed.started`, which no client sees.
 */
export const events = sqliteTable("events", {
  // Without AUTOINCREMENT, which would write a second row for each event. The purge keeps the newest row, so no id is used again.
  id: integer().primaryKey(),
  // Random. With the id, it tells an event from the one that has its id in another history, after the database was restored.
  tag: integer().notNull(),
  type: text().notNull(),
  // The version of the resource after the change.
  version: integer().notNull(),
  // The resource after the change, as JSON.
  data: text().notNull(),
  // From the clock of the database, in RFC 3339 with milliseconds.
  createdAt: text("created_at").notNull(),
});
