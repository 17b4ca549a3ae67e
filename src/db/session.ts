import { serviceUnavailable } from "../errors.ts";
import { retryTransient } from "./retry.ts";
import type { Statement } from "./statement.ts";

/** What D1 tells about the work of one answer. */
export interface D1Usage {
  /** Where the session stands now: a later session that starts from it sees everything this one saw or wrote. */
  bookmark: string | undefined;
  /** Milliseconds that the SQL took inside the database. */
  duration: number;
  rowsRead: number;
  rowsWritten: number;
}

/**
 * The D1 session of one request. Opening it costs nothing; each method costs one round trip. What D1 throws comes out as
 * `service_unavailable`.
 */
export class Session {
  readonly #database: D1Database;
  #bookmark: string | undefined;
  readonly #onAnswer: (usage: D1Usage) => void;

  /**
   * @param bookmark where reads start. Without one the first may use the nearest replica, whatever that has seen so far.
   * @param onAnswer called after each answer of D1, before its rows are returned.
   */
  constructor(database: D1Database, bookmark: string | undefined, onAnswer: (usage: D1Usage) => void) {
    this.#database = database;
    this.#bookmark = bookmark;
    this.#onAnswer = onAnswer;
  }

  /** Runs a statement that only reads. D1 itself repeats reads that fail for a passing reason. */
  async read<Row>(statement: Statement<Row>): Promise<Row[]> {
    const [rows] = await this.#run(this.#bookmark ?? "first-unconstrained", [statement]);
    return rows;
  }

  /** Runs a statement that writes, on the primary, once: after a failure nobody knows whether it took effect. */
  async write<Row>(statement: Statement<Row>): Promise<Row[]> {
    const [rows] = await this.#run("first-primary", [statement]);
    return rows;
  }

  /**
   * Runs statements in one transaction on the primary, and again after a passing failure. Only for statements whose
   * second run changes nothing and returns what the first did.
   */
  async writeRepeatably<Rows extends unknown[]>(statements: Statements<Rows>): Promise<Results<Rows>> {
    return this.#run("first-primary", statements, retryTransient);
  }

  async #run<Rows extends unknown[]>(
    start: string,
    statements: Statements<Rows>,
    attempt: typeof retryTransient = (run) => run(),
  ): Promise<Results<Rows>> {
    let answers: D1Result[];
    try {
      answers = await attempt(() => this.#send(start, statements));
    } catch (cause) {
      // A row that breaks a constraint is a bug of ours, and no retry will mend it.
      throw cause instanceof Error && cause.message.includes("SQLITE_CONSTRAINT") ? cause : serviceUnavailable(cause);
    }
    const usage = { bookmark: this.#bookmark, duration: 0, rowsRead: 0, rowsWritten: 0 };
    for (const { meta } of answers) {
      usage.duration += meta.duration;
      usage.rowsRead += meta.rows_read;
      usage.rowsWritten += meta.rows_written;
    }
    this.#onAnswer(usage);
    return answers.map(({ results }) => results) as Results<Rows>;
  }

  /** One round trip; more than one statement is a transaction. */
  async #send(start: string, statements: readonly Statement<unknown>[]): Promise<D1Result[]> {
    const session = this.#database.withSession(start);
    const prepared = statements.map(({ sql, values }) => session.prepare(sql).bind(...values));
    const [single] = prepared;
    const answers = prepared.length === 1 && single ? [await single.all()] : await session.batch(prepared);
    this.#bookmark = session.getBookmark() ?? this.#bookmark;
    return answers;
  }
}

type Statements<Rows extends unknown[]> = readonly [...{ [Index in keyof Rows]: Statement<Rows[Index]> }];
type Results<Rows extends unknown[]> = { [Index in keyof Rows]: Rows[Index][] };
