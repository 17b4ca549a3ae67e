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

/** Disables a webhook whose receiver is gone, unless it has another address by now. */
const disable = compile("webhookEngine.disable", (db, parameter: Parameter<Webhook & { url: string }>) =>
  db
    .update(webhooks)
    .set({ enabled: 0, disabledReason: "gone", version: sql`${webhooks.version} + 1` })
    .where(and(isThis(parameter), eq(webhooks.url, parameter("url")), eq(webhooks.enabled, 1))),
);

export interface Configuration {
  url: string;
  /** A JSON array. */
  types: string;
  enabled: number;
  place: string;
  concurrency: number;
  /** Enabled webhooks that have the same host. */
  peers: number;
}

/** Where to read the feed, and how much. */
export interface Question {
  place: string;
  /** Events, at most. */
  limit: number;
}

/** What an object asks the database. Always the primary: a replica may lag. */
export class Database {
  readonly #d1: D1Database;

  constructor(d1: D1Database) {
    this.#d1 = d1;
  }

  get #session(): Session {
    return new Session(this.#d1, undefined);
  }

  /**
   * In one transaction, so that no restore comes in between, and the types are those of the configuration.
   *
   * @returns the configuration, if there is one, and the rows of each question. The first one is that of the place, if the feed has it.
   */
  async look(name: string, questions: readonly Question[] = []) {
    const webhook = webhookOf(name);
    const [[configuration], ...rows] = await this.#session.writeRepeatably<[Configuration, ...Read[]]>([
      selectConfiguration(webhook),
      ...questions.map(({ place, limit }) => selectWanted({ ...webhook, first: placeAt(place).id, limit: limit + 1 })),
    ]);
    return { configuration, rows };
  }

  /** The present end of the feed, with a bookmark that has seen it. */
  async end(): Promise<{ place: string; bookmark: string | undefined }> {
    const session = this.#session;
    const [end] = await session.readFromPrimary(selectEnd({}));
    if (end === undefined) throw new Error("The feed is empty");
    return { place: end.place, bookmark: session.usage.bookmark };
  }

  async disable(name: string, url: string): Promise<void> {
    await this.#session.writeOnce([disable({ ...webhookOf(name), url })]);
  }
}
