import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Why the service disabled a webhook. The list may grow. */
export const DISABLED_REASONS = ["gone"] as const;

/** The configuration of each webhook. Its Durable Object has the rest: secret, place in the feed and deliveries. */
export const webhooks = sqliteTable("webhooks", {
  id: integer().primaryKey({ autoIncrement: true }),
  // Random. With the id, it names the object: a restore of the database may use the id again.
  tag: integer().notNull(),
  url: text().notNull(),
  // A JSON array of types of events.
  types: text().notNull(),
  enabled: integer().notNull().default(1),
  disabledReason: text("disabled_reason"),
  // The id of the API key of the creation.
  createdBy: text("created_by").notNull(),
  // From the clock of the database, in RFC 3339 with milliseconds.
  createdAt: text("created_at").notNull(),
  // The end of the feed in the transaction of the creation, where the deliveries start.
  place: text().notNull(),
  // Increases with each change.
  version: integer().notNull().default(1),
  // Attempts at once, from 1 to MAX_CONCURRENCY.
  concurrency: integer().notNull().default(6),
});
