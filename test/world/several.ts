import { Session as One } from "../../src/db/session.ts";
import type { Statement } from "../../src/db/statement.ts";

/** Ids of one database, as a power of two. */
const IDS = 40n;
const LAST_ID = "9223372036854775807";
/** Fails when the database is closed, and with it the transaction. */
const GUARD = { sql: "SELECT json(iif(EXISTS (SELECT 1 FROM closed), 'closed', '1'))", values: [] };
type Marked = { marked: 0 | 1; present: 1 | null };
const isClosed = (error: unknown) => String((error as Error).cause).includes("malformed JSON");

/** The newest database that this isolate knows, and the newest bookmark that each gave it. */
let newestPlace = 0;
let newestBookmarks = "";

/** A header has the bookmark of each database, separated by commas. */
const join = (bookmarks: string[]) => bookmarks.join().replace(/,+$/, "");

/** The newer bookmark of each database. */
export function merge(some = "", others = ""): string {
  const all = some.split(",");
  for (const [place, one] of others.split(",").entries()) if (one > (all[place] ?? "")) all[place] = one;
  return join(all);
}

/** Whether what has seen some bookmarks satisfies a request with others. */
export const answers = (seen: string, needed: string) => merge(seen, needed) === seen;

/** The value of the first parameter after this text. */
function valueAfter({ sql, values }: Statement<unknown>, text: RegExp): unknown {
  const parts = sql.split("?").slice(0, -1);
  return values[parts.findIndex((part) => text.test(part))];
}

/** The session of a request over several databases, in the place of that of one: docs/decisions/growing-past-one-database.md. */
export class Session {
  readonly #all: One[];
  /** The bookmark of the request for each database. */
  readonly #sent: string[];
  readonly usage: Partial<One["usage"]> = {};

  constructor({ all }: { all: D1Database[] }, start: string | undefined) {
    this.#sent = start === undefined || start === "first-primary" ? [] : start.split(",");
    const startOf = (place: number) => start && (this.#sent[place] || "first-primary");
    this.#all = all.map((one, place) => new One(one, startOf(place)));
  }

  read<Row>(statement: Statement<Row>): Promise<Row[]> {
    const isPage = statement.sql.endsWith(" limit ?") && !/"(?:events|categories)"/.test(statement.sql);
    return isPage ? this.#page(statement) : this.#in(this.#placeOf([statement]), (one) => one.read(statement));
  }

  readFromPrimary = <Row>(statement: Statement<Row>) =>
    this.#in(this.#placeOf([statement]), (one) => one.readFromPrimary(statement));
  writeOnce = (statements: Statement<unknown>[]) => this.#write(statements, false);
  writeRepeatably = (statements: Statement<unknown>[]) => this.#write(statements, true);

  get confirmedBookmark(): string | undefined {
    const reached = this.#all.map(({ usage: { bookmark = "" } }) => bookmark);
    return answers(newestBookmarks, join(reached)) ? join(reached) : undefined;
  }

  /** The database of the row that statements name. Categories are in the first one. The feed without a cursor is that of the newest. */
  #placeOf(statements: Statement<unknown>[]): number {
    if (statements.some(({ sql }) => sql.includes('"categories"'))) return 0;
    const idOf = (one: Statement<unknown>) =>
      valueAfter(one, /"id" = $|CAST\($/) ?? /\[\{"id":"?(\d+)/.exec(one.values.join())?.[1];
    const feed = BigInt(statements[0]?.sql.includes('"events"') ? newestPlace : 0) << IDS;
    return this.#placeOfId(statements.map(idOf).find((id) => id !== undefined) ?? feed);
  }
  #placeOfId = (id: unknown) => Math.max(0, Math.min(Number(BigInt(id as string) >> IDS), this.#all.length - 1));

  /**
   * A page goes on in the next database, if it has seen the mark that closes this one: a state without the mark may lack animals. It asks
   * the primary for the mark when it knows of a later database, from the bookmarks, from the cursor or from the rows so far.
   */
  async #page<Row>({ sql, values }: Statement<Row>): Promise<Row[]> {
    const marked = `SELECT part.*, EXISTS (SELECT 1 FROM closed) AS marked
      FROM (SELECT 1) LEFT JOIN (SELECT 1 AS present, * FROM (${sql})) AS part ON true`;
    const limit = Number(values.at(-1));
    const step = /"id" < \?| desc limit \?$/i.test(sql) ? -1 : 1;
    const after = valueAfter({ sql, values }, /"id" [<>] $/) ?? (step === 1 ? "0" : LAST_ID);
    const found: Row[] = [];
    let latest = this.#sent.length - 1;
    for (let place = this.#placeOfId(after); this.#all[place] !== undefined && found.length < limit; place += step) {
      const part: Statement<Row & Marked> = { sql: marked, values: [...values.slice(0, -1), limit - found.length] };
      let rows = await this.#in(place, (one) => one.read(part));
      if (place < latest && rows[0]?.marked !== 1 && this.usage.primary !== true)
        rows = await this.#in(place, (one) => one.readFromPrimary(part));
      found.push(...rows.filter(({ present }) => present !== null));
      if (rows[0]?.marked === 1) newestPlace = Math.max(newestPlace, place + 1);
      else if (step === 1) break;
      if (after !== LAST_ID || found.length > 0) latest = Math.max(latest, place);
    }
    return found;
  }

  /** A creation of animals looks for its key in the databases that are closed, and goes to the next one. */
  async #write(statements: Statement<unknown>[], isRepeatable: boolean): Promise<unknown[][]> {
    const run = (place: number, all: Statement<unknown>[]) =>
      this.#in(place, (one) => (isRepeatable ? one.writeRepeatably(all) : one.writeOnce(all)));
    if (!statements[0]?.sql.startsWith('insert into "pets"')) return run(this.#placeOf(statements), statements);
    for (let place = 0; ; place++) {
      try {
        if (place >= newestPlace) return (await run(place, [GUARD, ...statements])).slice(1);
      } catch (error) {
        if (!isClosed(error)) throw error;
        newestPlace = Math.max(newestPlace, place + 1);
      }
      // The last statement of a creation with a key selects what the key has made.
      const [entries = []] = isRepeatable ? await run(place, statements.slice(-1)) : [];
      if (entries.length > 0) return [...statements.slice(1).map(() => []), entries];
    }
  }

  /** Runs something in one database. */
  async #in<Result>(place: number, run: (one: One) => Promise<Result>): Promise<Result> {
    const one = this.#all[place] as One;
    this.usage.bookmark = undefined;
    const result = await run(one);
    const { bookmark = "" } = one.usage;
    if (bookmark !== this.#sent[place]) newestBookmarks = merge(newestBookmarks, ",".repeat(place) + bookmark);
    const reached = this.#all.map(({ usage }, index) => usage.bookmark ?? this.#sent[index] ?? "");
    Object.assign(this.usage, one.usage, { bookmark: join(reached) });
    return result;
  }
}
