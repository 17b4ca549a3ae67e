import { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { beginAt, placeAt, selectEnd } from "../feed/place.ts";
import type { Item } from "./audience.ts";
import { selectFeed } from "./statements.ts";

/** Events of a read, at most. */
const PAGE = 200;

/** What a hub reads of the feed. Always on the primary: a replica may lag. */
export class Feed {
  readonly #database: D1Database;
  /** Of the last read, for requests that have to see its events. */
  bookmark: string | undefined;

  constructor(database: D1Database) {
    this.#database = database;
  }

  /** What follows a place, and whether there may be more. Undefined when the feed does not have the place. */
  async after(place: string): Promise<{ items: Item[]; more: boolean } | undefined> {
    const rows = await this.#read(selectFeed({ first: placeAt(place).id, limit: PAGE + 1 }));
    if (!beginAt(rows, placeAt(place))) return undefined;
    return { items: rows.slice(1), more: rows.length > PAGE || rows.at(-1)?.later === 1 };
  }

  /** Up to so many events before a place and that of the place, after the row of an earlier place. None when the feed does not have it. */
  async before(place: string, count: number): Promise<Item[]> {
    const first = Math.max(1, Number(placeAt(place).id) - count);
    const rows = await this.#read(selectFeed({ first: String(first) as Int64, limit: count + 1 }));
    return rows.slice(0, rows.findIndex((row) => row.place === place) + 1);
  }

  /** The place of its end. */
  async end(): Promise<string> {
    const [end] = await this.#read(selectEnd({}));
    if (end === undefined) throw new Error("The feed is empty");
    return end.place;
  }

  async #read<Row>(statement: Statement<Row>): Promise<Row[]> {
    const session = new Session(this.#database, "first-primary");
    const rows = await session.read(statement);
    this.bookmark = session.usage.bookmark ?? this.bookmark;
    return rows;
  }
}
