import { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
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
