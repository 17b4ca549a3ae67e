import type { SQLInputValue } from "node:sqlite";
import type { Clock } from "./clock.ts";
import type { Database, Execution } from "./database.ts";
import { bindable, mayWrite, type Statement } from "./sqlite.ts";

const FORM = /^([0-9a-f]{8})-/;

/** The bookmark of a state. Bookmarks order as texts (D1 documentation, Time Travel). */
export function bookmarkOf(state: number): string {
  return `${state.toString(16).padStart(8, "0")}-00000000-00004e20-${"5eed".repeat(8)}`;
}

export function stateOf(bookmark: string): number {
  return Number.parseInt(FORM.exec(bookmark)?.[1] ?? "", 16);
}

/** What happens to the round trips of a request on their way. */
export interface Path {
  clock: Clock;
  database: Database;
  /** The replica that its reads use. */
  replica: number;
  delay: () => number;
  /** Whether a read that waits for its bookmark goes to the primary instead. */
  goesFurther: () => boolean;
  /** The failure of a round trip, before its statements run or after. */
  failureOf: (writes: boolean) => { when: "before" | "after"; message: string } | undefined;
  /** Called when the statements have run, or did not. */
  onTrip: (execution: Omit<Execution, "results"> | undefined, failure: string | undefined) => void;
  /** Statements that D1 takes, if not those of one invocation. */
  maxStatements?: number;
  /** Results reach only an isolate that runs. */
  deliver: (run: () => void) => void;
}

/** A way to the primary, so many milliseconds long, on which nothing fails. */
export const pathTo = (database: Database, clock: Clock, delay: number): Path => ({
  clock,
  database,
  replica: 0,
  delay: () => delay,
  goesFurther: () => false,
  failureOf: () => undefined,
  onTrip: () => {},
  deliver: (run) => run(),
});

class Prepared implements Statement {
  readonly sql: string;
  readonly values: SQLInputValue[];
  readonly #session: Session;

  constructor(session: Session, sql: string, values: SQLInputValue[] = []) {
    this.#session = session;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): Prepared {
    return new Prepared(this.#session, this.sql, values.map(bindable));
  }

  async all(): Promise<object | undefined> {
    const [result] = await this.#session.batch([this]);
    return result;
  }

  run = () => this.all();
}

/** Statements that D1 takes in an invocation of a Worker, on the paid plan (D1 documentation, Limits). */
const MAX_STATEMENTS = 1_000;

/** A D1 session. Its reads see at least the state that it has reached. */
class Session {
  readonly #path: Path;
  readonly #count: (statements: number) => void;
  readonly #start: string;
  #bookmark: string | null;

  constructor(path: Path, count: (statements: number) => void, start: string) {
    [this.#path, this.#count] = [path, count];
    this.#start = start;
    this.#bookmark = FORM.test(start) ? start : null;
  }

  prepare = (sql: string) => new Prepared(this, sql);

  getBookmark = () => this.#bookmark;

  async batch(statements: Prepared[]): Promise<object[]> {
    if (statements.length === 0) throw new Error("D1_ERROR: No SQL statements detected.");
    this.#count(statements.length);
    const { clock, delay, deliver, failureOf, onTrip } = this.#path;
    const writes = statements.some(mayWrite);
    return new Promise((resolve, reject) => {
      const answer = (respond: () => void) => clock.after(delay(), () => deliver(respond));
      clock.after(delay(), () => {
        const failure = failureOf(writes);
        if (failure?.when === "before") {
          onTrip(undefined, failure.message);
          answer(() => reject(new Error(failure.message)));
          return;
        }
        this.#execute(writes, statements, (execute) => {
          let execution: Execution;
          try {
            execution = execute();
          } catch (error) {
            onTrip(undefined, (error as Error).message);
            answer(() => reject(error));
            return;
          }
          onTrip(execution, failure?.message);
          const results = this.#resultsOf(execution);
          answer(() => {
            if (failure !== undefined) return reject(new Error(failure.message));
            const reached = bookmarkOf(execution.after);
            // A session never goes back, also from a bookmark that a client made up.
            if (this.#bookmark === null || reached > this.#bookmark) this.#bookmark = reached;
            resolve(results);
          });
        });
      });
    });
  }

  /** Finds the instance, and waits until it may run. */
  #execute(writes: boolean, statements: Prepared[], run: (execute: () => Execution) => void): void {
    const { clock, database, replica, goesFurther } = this.#path;
    const onPrimary = () => database.onPrimary(statements);
    if (writes || database.replicas === 0 || this.#start === "first-primary") return run(onPrimary);
    const onReplica = () => database.onReplica(replica, statements);
    const needed = this.#bookmark === null ? 0 : Math.min(stateOf(this.#bookmark), database.state);
    const lag = database.lagOf(replica, needed);
    if (lag === 0) return run(onReplica);
    if (goesFurther()) return run(onPrimary);
    clock.after(lag, () => run(onReplica));
  }

  #resultsOf({ results, instance }: Execution): object[] {
    const region = { served_by_region: "SIM", served_by_primary: instance === "primary" };
    return results.map(({ rows, changes }) => ({
      success: true,
      results: rows,
      meta: { duration: 0, rows_read: 0, rows_written: 0, changes, ...region },
    }));
  }
}

/** The D1 binding of one invocation of a Worker. */
export function d1Of(path: Path): D1Database {
  let left = path.maxStatements ?? MAX_STATEMENTS;
  const count = (statements: number) => {
    left -= statements;
    if (left < 0) throw new Error("Too many statements in one invocation");
  };
  const withSession = (start = "first-unconstrained") => new Session(path, count, start);
  const session = withSession("first-primary");
  const batch = (statements: Prepared[]) => session.batch(statements);
  return { withSession, prepare: session.prepare, batch } as unknown as D1Database;
}
