import type { SQLInputValue } from "node:sqlite";
import { type Prepared, QUOTED, Sqlite } from "../../scripts/sqlite.ts";
import { Random } from "./random.ts";

export interface Statement {
  sql: string;
  values: SQLInputValue[];
}
type Row = Record<string, unknown>;

const WRITES = /\b(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|DROP)\b/i;

const DAY = 86_400_000;

/** One instance of the database: SQLite with the rules of D1. Its clock and its chance are those of the transaction. */
export class Instance {
  #database = new Sqlite();
  #prepared = new Map<string, Prepared>();
  #time = 0;
  #chance = new Random(0);

  constructor() {
    this.#setUp();
  }

  #setUp(): void {
    this.#database.function("unixepoch", { varargs: true }, (modifier) =>
      modifier === "subsec" ? this.#time / 1000 : Math.floor(this.#time / 1000),
    );
    this.#database.function("strftime", { varargs: true }, (_format, _now, modifier) => {
      // The only modifier of the service: "-7 days". SQLite knows no other time after a wrong one.
      const days = modifier === undefined ? 0 : Number(/^(-\S+) days$/.exec(String(modifier))?.[1]);
      return Number.isNaN(days) ? null : new Date(this.#time + days * DAY).toISOString();
    });
    this.#database.function("random", () => BigInt(this.#chance.between(0, 2 ** 32 - 1)));
    this.#database.exec("PRAGMA foreign_keys = ON");
  }

  /** Applies the migrations that it does not have, up to this number of them in all. */
  migrate(folder: string, count = Infinity): void {
    // Like the table of wrangler, without its counter of ids: the D1 that test/load/bindings.test.ts compares has no such counter.
    this.#database.exec("CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE)");
    const note = this.#database.prepare("INSERT INTO d1_migrations (name) VALUES (?)");
    const applied = this.count("SELECT count(*) FROM d1_migrations");
    for (const name of this.#database.migrate(folder, applied, count)) note.run(name);
  }

  /**
   * Runs statements in one transaction. Returns the rows and the number of changes of each.
   *
   * @param seed of what SQL does by chance.
   */
  run(statements: readonly Statement[], time: number, seed: number): { rows: Row[]; changes: number }[] {
    this.#time = Math.floor(time);
    this.#chance = new Random(seed);
    const isTransaction = statements.length > 1;
    if (isTransaction) this.#database.exec("BEGIN");
    try {
      const results = statements.map((statement) => ({ rows: this.#rowsOf(statement), changes: 0 }));
      const [only] = results;
      if (only !== undefined && statements.every(mayWrite)) only.changes = this.count("SELECT changes() AS count");
      if (isTransaction) this.#database.exec("COMMIT");
      return results;
    } catch (error) {
      if (isTransaction) this.#database.exec("ROLLBACK");
      throw toFailure(error);
    }
  }

  /** Runs the writing statements of a transaction again. They succeed, as they did before. */
  repeat(statements: readonly Statement[], time: number, seed: number): void {
    this.#time = Math.floor(time);
    this.#chance = new Random(seed);
    for (const { sql, values } of statements) this.#prepare(sql).statement.run(...values);
  }

  #rowsOf({ sql, values }: Statement): Row[] {
    const { statement, parameters } = this.#prepare(sql);
    if (parameters !== values.length)
      throw failure("Wrong number of parameter bindings for SQL query.", "SQLITE_RANGE");
    const rows = statement.all(...values) as Row[];
    for (const row of rows) for (const name in row) row[name] = fromSqlite(row[name]);
    return rows;
  }

  /** The first column of the first row. */
  count(sql: string): number {
    return Number(Object.values(this.#prepare(sql).statement.get() ?? {})[0]);
  }

  rows(sql: string, ...values: SQLInputValue[]): Row[] {
    const rows = this.#prepare(sql).statement.all(...values) as Row[];
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, fromSqlite(value)])));
  }

  /** Rows that every statement so far has changed. */
  get totalChanges(): number {
    return this.count("SELECT total_changes() AS count");
  }

  serialize(): Uint8Array {
    return this.#database.serialize();
  }

  /** Replaces the content. */
  restore(content: Uint8Array): void {
    this.close();
    this.#database = new Sqlite();
    this.#prepared = new Map();
    this.#database.deserialize(content);
    this.#setUp();
  }

  close(): void {
    this.#database.close();
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#database.prepareAsked(sql);
    prepared.statement.setReadBigInts(true);
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

const writing = new Map<string, boolean>();

export function mayWrite({ sql }: Statement): boolean {
  const known = writing.get(sql) ?? WRITES.test(sql.replace(QUOTED, ""));
  writing.set(sql, known);
  return known;
}

/**
 * A value as D1 stores it. Half of a pair is stored as bytes that no text has, which are read as three replacements.
 *
 * @throws Error for a value that D1 refuses to bind.
 */
export function bindable(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return Number(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "string") return value.replaceAll(/\p{Surrogate}/gu, "\uFFFD".repeat(3));
  if (value === null || value instanceof Uint8Array) return value;
  throw new Error(`D1_TYPE_ERROR: Type '${typeof value}' not supported`);
}

/** D1 returns numbers, which round a large integer, and arrays for bytes. */
function fromSqlite(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  return value instanceof Uint8Array ? [...value] : value;
}

/** The primary codes of SQLite (sqlite.org/rescode.html), of those that statements meet. */
const CODES: { [code: number]: string } = {
  1: "SQLITE_ERROR",
  18: "SQLITE_TOOBIG",
  19: "SQLITE_CONSTRAINT",
  20: "SQLITE_MISMATCH",
};

function toFailure(error: unknown): Error {
  const { errcode, message } = error as { errcode?: number; message: string };
  if (errcode === undefined) return error as Error;
  return failure(message, CODES[errcode & 0xff] ?? "SQLITE_ERROR");
}

const failure = (message: string, code: string) => new Error(`D1_ERROR: ${message}: ${code}`);
