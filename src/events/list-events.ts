import { or, type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "hono";
import * as z from "zod/mini";
import type { EventPage } from "../feed/event.ts";
import { beginAt, encodeEventCursor, type Place } from "../feed/place.ts";
import { events } from "../feed/table.ts";
import { feedParameters, LATEST, typesFor } from "../feed/wanted.ts";
import { windowOfFeed } from "../feed/window.ts";
import { handlersOf } from "../operation.ts";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { guard } from "../http/guard.ts";
import { openSession } from "../http/open-session.ts";
import { limitField, MAX_LIMIT } from "../http/paging.ts";
import { jsonText } from "../http/respond.ts";
import { query } from "../http/query.ts";
import { lazy } from "../lazy.ts";

/** Events that a page looks at, at most. A page of a rare type costs little more than one of all types, and a walk takes more pages. */
export const WINDOW = 500;

export const listEventsQuery = lazy(() => {
  const { cursor, type } = feedParameters();
  return z.strictObject({ cursor, limit: limitField(), type });
});

interface Wanted {
  /** The types to return, or the resources, separated and enclosed by commas. */
  types: string;
  /** Rows, at most. */
  limit: number;
}

function part(db: QueryBuilder, parameter: Parameter<Wanted>, first: SQLWrapper) {
  const isIn = (name: SQLWrapper) => sql`instr(${parameter("types")}, ',' || ${name} || ',')`;
  const isWanted = or(isIn(events.type), isIn(sql`substr(${events.type}, 1, instr(${events.type}, '.'))`));
  return windowOfFeed(db, { first, isWanted, limit: parameter("limit"), size: WINDOW, columns: {} });
}

const selectFrom = compile("listEvents.from", (db, parameter: Parameter<Wanted & { id: Int64 }>) =>
  part(db, parameter, sql`CAST(${parameter("id")} AS INTEGER)`),
);
const selectOldest = compile("listEvents.oldest", (db, parameter: Parameter<Wanted>) =>
  part(db, parameter, sql`(SELECT min(${events.id}) FROM ${events})`),
);
const selectLatest = compile("listEvents.latest", (db, parameter: Parameter<Wanted>) =>
  part(db, parameter, sql`(SELECT max(${events.id}) FROM ${events})`),
);

type Row = ReturnType<typeof selectOldest> extends Statement<infer Row> ? Row : never;

/**
 * The rows from a place on, its own row first. That row tells that the history is still the one that the cursor came from.
 *
 * @throws ApiError `cursor_expired` when the primary does not have the row.
 */
async function readFrom(session: Session, place: Place, part: Wanted): Promise<Row[]> {
  const select = selectFrom({ ...part, id: place.id });
  const rows = await session.read(select);
  if (beginAt(rows, place)) return rows;
  // A replica that lags does not have the row yet.
  const rowsOfPrimary = session.usage.primary === true ? rows : await session.readFromPrimary(select);
  if (beginAt(rowsOfPrimary, place)) return rowsOfPrimary;
  throw new ApiError(
    "cursor_expired",
    "The feed does not have the place of this cursor, or no longer. Start again: take cursor=latest, list everything with the bookmark of that response into an empty copy, go on from the new cursor, and apply an event only if its version is higher than that of the copy.",
  );
}

export const listEvents = handlersOf("listEvents")(guard("events:read"), query(listEventsQuery), async (c) => {
  const { cursor, limit = MAX_LIMIT, type } = c.req.valid("query");
  const wanted = typesFor(c, type);
  const types = `,${wanted.join()},`;
  const session = openSession(c);
  if (cursor === LATEST) {
    const [newest] = await session.read(selectLatest({ types, limit: 1 }));
    return respond(c, [], newest?.place, false);
  }
  // Beside the events: the first row, which may be that of the cursor or that of a new feed, and one that tells whether there is more.
  const part = { types, limit: limit + 2 };
  const rows = cursor === undefined ? await session.read(selectOldest(part)) : await readFrom(session, cursor, part);

  const found: string[] = [];
  let next = cursor === undefined ? 0 : 1;
  for (; next < rows.length && found.length < limit; next++) {
    const event = rows[next]?.event;
    if (typeof event === "string") found.push(event);
  }
  return respond(c, found, rows[next - 1]?.place, next < rows.length || rows.at(-1)?.later === 1);
});

function respond(c: Context<AppEnv>, found: string[], last: string | undefined, more: boolean) {
  if (last === undefined) throw new Error("The feed is empty");
  const body = `{"events":[${found.join()}],"cursor":"${encodeEventCursor(last)}","more":${more}}`;
  return jsonText<EventPage, 200>(c, body, 200);
}
