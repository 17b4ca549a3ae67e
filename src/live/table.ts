import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The hubs that have listeners. An isolate reads their names together with those of the webhooks. */
export const liveHubs = sqliteTable("live_hubs", { name: text().primaryKey() });

/** How the names of hubs begin. Those of webhooks begin with a digit. */
export const HUB = "live:";
