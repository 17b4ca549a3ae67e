import { serviceUnavailable } from "../errors.ts";
import type { Statement } from "./statement.ts";

/** What D1 tells about the work of one answer. */
export interface D1Usage {
  /** Where the session stands now: a later session that starts from it sees everything this one saw or wrote. */
  bookmark: string | null;
  /** Milliseconds that the SQL took inside the database. */
  duration: number;
  rowsRead: number;
  rowsWritten: number;
}

/**
 * The D1 session of one request. Opening it costs nothing; `read` and `write` cost one round trip each.
 * What D1 throws comes out as `service_unavailable`.
 */
export class Session {
  readonly #database: D1Database;
  readonly #bookmark: string | undefined;
  readonly #onAnswer: (usage: D1Usage) => void;

  /**
   * @param bookmark where to start. Without one, a read may use the nearest replica, whatever it has seen so far.
   * @param onAnswer called after each answer of D1, before its rows are returned.
   */
  constructor(database: D1Database, bookmark: string | undefined, onAnswer: (usage: D1Usage) => void) {
    this.#database = database;
    this.#bookmark = bookmark;
    this.#onAnswer = onAnswer;
  }

  /** Runs a statement that only reads. */
  async read<P extends Record<string, unknown>, Row>(statement: Statement<P, Row>, parameters: P): Promise<Row[]> {
    return this.#run(this.#bookmark ?? "first-unconstrained", statement, parameters);
  }

  /** Runs a statement that writes, on the primary. */
  async write<P extends Record<string, unknown>, Row>(statement: Statement<P, Row>, parameters: P): Promise<Row[]> {
    return this.#run("first-primary", statement, parameters);
  }

  async #run<P extends Record<string, unknown>, Row>(start: string, statement: Statement<P, Row>, parameters: P) {
    try {
      const session = this.#database.withSession(start);
      const { results, meta } = await session
        .prepare(statement.sql)
        .bind(...statement.bind(parameters))
        .all<Row>();
      this.#onAnswer({
        bookmark: session.getBookmark(),
        duration: meta.duration,
        rowsRead: meta.rows_read,
        rowsWritten: meta.rows_written,
      });
      return results;
    } catch (cause) {
      throw serviceUnavailable(cause);
    }
  }
}
