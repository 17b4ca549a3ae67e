import type { DatabaseUsage } from "../env.ts";
import { type ApiError, outcomeUnknown, serviceUnavailable } from "../errors.ts";
import { retryTransient } from "./retry.ts";
import type { Statement } from "./statement.ts";

/** How SQLite tells that an instance of the database lacks a migration. That it does tell is the work of `plainDialect`. */
const lacksSchema = (error: unknown) => error instanceof Error && /no such (?:table|column|index)/.test(error.message);

/** Milliseconds of SQL from which a statement is slow. With a million rows in each table, all take less (docs/capacity.md). */
export const SLOW_MILLISECONDS = 100;

/** The newest bookmark that D1 gave this isolate. */
let newestBookmark = "";

/**
 * The D1 session of one request. Opening it costs nothing; each method costs one round trip. An error of D1 becomes
 * `service_unavailable`.
 */
export class Session {
  readonly #database: D1Database;
  readonly usage: DatabaseUsage = {};
  readonly #start: string;
  /** The session of D1 in which the last round trip ran. */
  #last: D1DatabaseSession | undefined;

  /**
   * @param start the state that reads must have seen: a bookmark, or "first-primary". Without one, they may use the nearest replica,
   *   however old its state is.
   */
  constructor(database: D1Database, start: string | undefined) {
    this.#database = database;
    this.#start = start ?? "first-unconstrained";
  }

  /**
   * Runs a statement that only reads. D1 itself repeats it after a transient failure (its documentation, Retry queries). A replica may not have the migrations of
   * a release yet, also at the state of a bookmark: then the read is repeated once, on the primary.
   */
  async read<Row>(statement: Statement<Row>): Promise<Row[]> {
    const [rows] = await this.#run(this.#start, [statement]);
    return rows;
  }

  /** The same on the primary: no replica has seen more. */
  async readFromPrimary<Row>(statement: Statement<Row>): Promise<Row[]> {
    const [rows] = await this.#run("first-primary", [statement]);
    return rows;
  }

  /**
   * Runs statements in one transaction on the primary, without a retry. After a failure it is unknown whether they took effect.
   *
   * @param isHarmless whether a second run changes nothing, so that the client may repeat the request.
   */
  writeOnce<Rows extends unknown[]>(statements: Statements<Rows>, isHarmless = false): Promise<Results<Rows>> {
    return this.#run("first-primary", statements, undefined, isHarmless ? serviceUnavailable : outcomeUnknown);
  }

  /**
   * Runs statements in one transaction on the primary, and repeats it after a transient failure. Only for statements whose
   * second run changes nothing and returns the same rows as the first.
   */
  writeRepeatably<Rows extends unknown[]>(statements: Statements<Rows>): Promise<Results<Rows>> {
    return this.#run("first-primary", statements, retryTransient);
  }

  async #run<Rows extends unknown[]>(
    start: string,
    statements: Statements<Rows>,
    attempt: typeof retryTransient = (run) => run(),
    failed: (cause: unknown) => ApiError = serviceUnavailable,
  ): Promise<Results<Rows>> {
    let sent: D1Result | D1Result[];
    try {
      sent = await attempt(() => this.#send(start, statements));
    } catch (cause) {
      if (start !== "first-primary" && lacksSchema(cause)) {
        this.usage.repeated = true;
        return await this.#run("first-primary", statements);
      }
      // A failure has no bookmark, also after an earlier round trip.
      this.usage.bookmark = undefined;
      // For the log. D1 does not tell which of them failed.
      if (cause instanceof Error) Object.assign(cause, { statements: statements.map(({ name }) => name).join() });
      // A violated constraint is a bug of the service. A retry would fail again.
      throw cause instanceof Error && cause.message.includes("SQLITE_CONSTRAINT") ? cause : failed(cause);
    }
    const { usage } = this;
    const results = Array.isArray(sent) ? sent : [sent];
    const bookmark = this.#last?.getBookmark() ?? undefined;
    usage.bookmark = bookmark ?? usage.bookmark;
    if (bookmark !== undefined && bookmark !== start && bookmark > newestBookmark) newestBookmark = bookmark;
    for (const [place, { meta }] of results.entries()) {
      usage.duration = (usage.duration ?? 0) + meta.duration;
      usage.rowsRead = (usage.rowsRead ?? 0) + meta.rows_read;
      usage.rowsWritten = (usage.rowsWritten ?? 0) + meta.rows_written;
      usage.region = meta.served_by_region;
      usage.primary = meta.served_by_primary;
      if (meta.duration >= SLOW_MILLISECONDS) (usage.slow ??= []).push(statements[place]?.name ?? "");
    }
    return results.map((result) => result.results) as Results<Rows>;
  }

  /**
   * The bookmark that the session has reached, if D1 confirms it. A session never returns a bookmark older than its start, which a
   * client may have made up.
   */
  get confirmedBookmark(): string | undefined {
    const { bookmark } = this.usage;
    return bookmark !== undefined && bookmark <= newestBookmark ? bookmark : undefined;
  }

  /** Takes one round trip. Several statements form a transaction. */
  #send(start: string, statements: readonly Statement<unknown>[]): Promise<D1Result | D1Result[]> {
    const session = (this.#last = this.#database.withSession(start));
    const prepared = statements.map(({ sql, values }) => session.prepare(sql).bind(...values));
    const [single] = prepared;
    return prepared.length === 1 && single ? single.all() : session.batch(prepared);
  }
}

type Statements<Rows extends unknown[]> = readonly [...{ [Index in keyof Rows]: Statement<Rows[Index]> }];
type Results<Rows extends unknown[]> = { [Index in keyof Rows]: Rows[Index][] };
