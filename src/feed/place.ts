import { desc, gte, sql } from "drizzle-orm";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { crc32 } from "../hash/crc32.ts";
import { events } from "./table.ts";

/** The form of a cursor of the feed. The document publishes it. */
export const EVENT_CURSOR = /^[0-9a-f]{32}$/;
/** Hexadecimal digits of a place: 16 for the id of an event, and 8 for its tag. */
const PLACE_LENGTH = 24;
const ID_LENGTH = 16;

/** A place in the feed: at the event with this id and this tag. */
export interface Place {
  text: string;
  id: Int64;
}

/** Where the next request goes on. Opaque to clients: the place, and a checksum that detects a truncated or mistyped cursor. */
export function encodeEventCursor(place: string): string {
  return place + checksum(place);
}

/** The place in a cursor that `encodeEventCursor` made, or undefined for any other text. */
export function decodeEventCursor(cursor: string): Place | undefined {
  if (!EVENT_CURSOR.test(cursor)) return undefined;
  const text = cursor.slice(0, PLACE_LENGTH);
  return cursor.slice(PLACE_LENGTH) === checksum(text) ? placeAt(text) : undefined;
}

/** The place of a text of `placeOfEvent`. */
export function placeAt(text: string): Place {
  return { text, id: BigInt.asIntN(64, BigInt(`0x${text.slice(0, ID_LENGTH)}`)).toString() as Int64 };
}

const checksum = (place: string) => crc32(new TextEncoder().encode(place)).toString(16).padStart(8, "0");

/** The place of an event, in hexadecimal digits of fixed length: places ascend as texts. */
export const placeOfEvent = sql<string>`printf('%016x%08x', ${events.id}, ${events.tag})`;

/** An event as clients see it, as JSON. */
export const eventBody = sql<string>`json_object('id', 'evt_' || ${placeOfEvent}, 'type', ${events.type}, 'timestamp', ${events.createdAt}, 'version', ${events.version}, 'data', json(${events.data}))`;

/**
 * Whether rows that a query read from a place on begin with the row of the place. If not, the history is not the one that the place came
 * from, or no longer has it.
 */
export const beginAt = (rows: readonly { place: string }[], { text }: Place): boolean => rows[0]?.place === text;

/** SQL for the place of the newest event. */
export const endOfFeed = (db: QueryBuilder) =>
  db
    .select({ place: placeOfEvent.as("place") })
    .from(events)
    .orderBy(desc(events.id))
    .limit(1);

/** The place of the first event from an id on. */
export const selectFrom = compile("feed.from", (db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ place: placeOfEvent.as("place") })
    .from(events)
    .where(gte(events.id, sql`CAST(${parameter("id")} AS INTEGER)`))
    .orderBy(events.id)
    .limit(1),
);

/** The place of the newest event. */
export const selectEnd = compile("feed.end", (db) => endOfFeed(db));
