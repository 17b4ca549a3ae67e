import { and, eq, sql } from "drizzle-orm";
import { Session } from "../../db/session.ts";
import { compile, type Parameter } from "../../db/statement.ts";
import type { Int64 } from "../../exact/int64.ts";
import { placeAt, selectEnd } from "../../feed/place.ts";
import { resourceOfEvent, windowOfFeed } from "../../feed/window.ts";
import { events } from "../../feed/table.ts";
import { webhooks } from "../table.ts";
import type { Read } from "./reader.ts";

interface Webhook {
  id: Int64;
  tag: number;
}

/** The webhook of the name of an object. */
function webhookOf(name: string): Webhook {
  const [id = "", tag = ""] = name.split("-");
  return { id: id as Int64, tag: Number(tag) };
}

const isThis = (parameter: Parameter<Webhook>) =>
  and(eq(webhooks.id, sql`${parameter("id")}`), eq(webhooks.tag, sql`${parameter("tag")}`));

/** Characters of `https://` or more: after them comes the first slash of the path. */
const originOf = (url: unknown) => sql`substr(${url}, 1, 8 + instr(substr(${url}, 9), '/'))`;
const isPeer = sql`peer.enabled = 1 AND ${originOf(sql.raw("peer.url"))} = ${originOf(webhooks.url)}`;

/** The row in the database, and how many enabled webhooks have the same host. */
const selectConfiguration = compile("webhookEngine.configuration", (db, parameter: Parameter<Webhook>) =>
  db
    .select({
      url: webhooks.url,
      types: webhooks.types,
      enabled: webhooks.enabled,
      place: webhooks.place,
      concurrency: webhooks.concurrency,
      peers: sql<number>`(SELECT count(*) FROM ${webhooks} AS peer WHERE ${isPeer})`.as("peers"),
    })
    .from(webhooks)
    .where(isThis(parameter)),
);

/** Events that a read looks at, at most: after an outage, those that a webhook does not want are passed with few reads. */
const WINDOW = 5_000;

/** From a place on, the events that the webhook wants. The first row is that of the place, if the feed has it. */
const selectWanted = compile(
  "webhookEngine.wanted",
  (db, parameter: Parameter<Webhook & { first: Int64; limit: number }>) => {
    const types = sql`(${db.select({ types: webhooks.types }).from(webhooks).where(isThis(parameter))})`;
    return windowOfFeed(db, {
      first: sql`max(CAST(${parameter("first")} AS INTEGER), coalesce((SELECT min(${events.id}) FROM ${events}), 0))`,
      isWanted: sql`instr(${types}, '"' || ${events.type} || '"')`,
      limit: parameter("limit"),
      size: WINDOW,
      columns: { type: sql<string>`${events.type}`.as("type"), resource: resourceOfEvent.as("resource") },
    });
  },
);

const update = compile("webhookEngine.disable", (db, parameter: Parameter<Webhook & { url: string }>) =>
  db
    .update(webhooks)
    .set({ enabled: 0, disabledReason: "gone", version: sql`${webhooks.version} + 1` })
    .where(and(isThis(parameter), eq(webhooks.url, parameter("url")), eq(webhooks.enabled, 1))),
);

export type Configuration = NonNullable<ReturnType<typeof selectConfiguration>["row"]>;

// An object always asks the primary: a replica may lag.

/**
 * In one transaction, so that no restore comes in between, and the types are those of the configuration.
 *
 * @param questions where to read the feed, and how many events, at most.
 * @returns the configuration, if there is one, and the rows of each question. The first one is that of the place, if the feed has it.
 */
export async function look(d1: D1Database, name: string, questions: readonly { place: string; limit: number }[] = []) {
  const webhook = webhookOf(name);
  const [[configuration], ...rows] = await new Session(d1, undefined).writeRepeatably<[Configuration, ...Read[]]>([
    selectConfiguration(webhook),
    ...questions.map(({ place, limit }) => selectWanted({ ...webhook, first: placeAt(place).id, limit: limit + 1 })),
  ]);
  return { configuration, rows };
}

/** The present end of the feed, with a bookmark that has seen it. */
export async function readEnd(d1: D1Database): Promise<{ place: string; bookmark: string | undefined }> {
  const session = new Session(d1, undefined);
  const [end] = await session.readFromPrimary(selectEnd({}));
  if (end === undefined) throw new Error("The feed is empty");
  return { place: end.place, bookmark: session.usage.bookmark };
}

/** Disables a webhook whose receiver is gone, unless it has another address by now. */
export async function disable(d1: D1Database, name: string, url: string): Promise<void> {
  await new Session(d1, undefined).writeOnce([update({ ...webhookOf(name), url })]);
}
