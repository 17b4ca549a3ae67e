import { eq, or, sql } from "drizzle-orm";
import { compile, type Parameter } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { events } from "../feed/table.ts";
import { RESOURCES } from "../feed/wanted.ts";
import { windowOfFeed } from "../feed/window.ts";
import { liveHubs } from "./table.ts";

/** Rows of a read, at most. Nearly all of them are wanted. */
const WINDOW = 1_000;

const resource = sql`substr(${events.type}, 1, instr(${events.type}, '.'))`;

/** The events after a place. The first row is that of the place, if the feed has it. Without an event, a row tells how far the read went. */
export const selectFeed = compile("live.feed", (db, parameter: Parameter<{ first: Int64; limit: number }>) =>
  windowOfFeed(db, {
    first: sql`CAST(${parameter("first")} AS INTEGER)`,
    isWanted: or(...RESOURCES.map((name) => eq(resource, sql.raw(`'${name}'`)))),
    limit: parameter("limit"),
    size: WINDOW,
    columns: {
      type: sql<string>`${events.type}`.as("type"),
      customer: sql<string | null>`${events.data} ->> 'customer'`.as("customer"),
    },
  }),
);

export const selectHub = compile("live.registered", (db, parameter: Parameter<{ name: string }>) =>
  db
    .select()
    .from(liveHubs)
    .where(eq(liveHubs.name, parameter("name"))),
);

export const insertHub = compile("live.register", (db, parameter: Parameter<{ name: string }>) =>
  db
    .insert(liveHubs)
    .values({ name: parameter("name") })
    .onConflictDoNothing(),
);

export const deleteHub = compile("live.unregister", (db, parameter: Parameter<{ name: string }>) =>
  db.delete(liveHubs).where(eq(liveHubs.name, parameter("name"))),
);
