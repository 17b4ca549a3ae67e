import { Queue, type Waiting } from "./queue.ts";
import type { Secrets } from "./signing.ts";
import { type Finished, type Progress, START } from "./progress.ts";

/** Finished deliveries that are listed. */
const MAX_FINISHED = 1_000;
/** Of them, those that one row has, and such rows. What is newer is part of the progress. */
const CHUNK = 100;
const CHUNKS = MAX_FINISHED / CHUNK + 1;

const COLUMNS = `(
  key TEXT PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, body TEXT NOT NULL, attempts INTEGER NOT NULL,
  first_failure_at INTEGER, last_attempt_at INTEGER, next_attempt_at INTEGER NOT NULL, response INTEGER, error TEXT
) WITHOUT ROWID`;
// Tables are only added, so that the version before can run on them: it writes `pending` without the names of its columns. Those without
// a rowid write one row where others write two.
const TABLES = `
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS pending ${COLUMNS};
  CREATE TABLE IF NOT EXISTS replaying ${COLUMNS};
  CREATE TABLE IF NOT EXISTS history (slot INTEGER PRIMARY KEY, number INTEGER NOT NULL, deliveries TEXT NOT NULL);
`;

const WAITING = `key, type, resource, attempts, first_failure_at AS refusedSince, last_attempt_at AS lastAttemptAt,
  next_attempt_at AS nextAttemptAt, response, error`;

/** The id that a receiver sees. */
export const eventId = (key: string): string => (key.startsWith("msg_") ? key : `evt_${key}`);

/** The columns that attempts change, in the order of the table. */
const CHANGED = "attempts, first_failure_at, last_attempt_at, next_attempt_at, response, error";
const changedOf = ({ attempts, refusedSince, lastAttemptAt, nextAttemptAt, response, error }: Waiting) =>
  [attempts, refusedSince, lastAttemptAt, nextAttemptAt, response, error] as const;

/** The storage of one object. Every method takes effect at once, and in the transaction around it. */
export class Store {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(TABLES);
  }

  #rows<Row extends object>(sql: string, ...values: SqlStorageValue[]): Row[] {
    return this.#storage.sql.exec(sql, ...values).toArray() as Row[];
  }

  transaction(run: () => void): void {
    this.#storage.transactionSync(run);
  }

  #read<Value>(name: string): Value | undefined {
    const [row] = this.#rows<{ value: string }>("SELECT value FROM state WHERE name = ?", name);
    return row && (JSON.parse(row.value) as Value);
  }

  #write(name: string, value: object): void {
    this.#rows("REPLACE INTO state (name, value) VALUES (?, ?)", name, JSON.stringify(value));
  }

  progress(): Progress {
    const stored = this.#read<Progress>("progress");
    // A version before may have stored less.
    return { ...START, ...stored, health: { ...START.health, ...stored?.health } };
  }

  /** @param finished what has finished since it was last saved. */
  save(progress: Progress, finished: readonly Finished[]): void {
    progress.finished += finished.length;
    progress.recent = [...progress.recent, ...finished];
    for (; progress.recent.length >= CHUNK; progress.recent = progress.recent.slice(CHUNK)) {
      const number = progress.finished - progress.recent.length;
      const deliveries = JSON.stringify(progress.recent.slice(0, CHUNK));
      this.#rows("REPLACE INTO history VALUES (?, ?, ?)", Math.floor(number / CHUNK) % CHUNKS, number, deliveries);
    }
    this.#write("progress", progress);
  }

  secrets(): Secrets | undefined {
    return this.#read("secrets");
  }

  saveSecrets(secrets: Secrets): void {
    this.#write("secrets", secrets);
  }

  queue(): Queue {
    const rows = ["pending", "replaying"].flatMap((table) => {
      const waiting = this.#rows<Omit<Waiting, "isReplay">>(`SELECT ${WAITING} FROM ${table} ORDER BY key`);
      return waiting.map((row) => ({ ...row, isReplay: table === "replaying" }));
    });
    return new Queue(rows);
  }

  /** The body of a delivery that waits. Undefined when it no longer does. */
  body(key: string): string | undefined {
    const sql = "SELECT body FROM pending WHERE key = ?1 UNION ALL SELECT body FROM replaying WHERE key = ?1";
    return this.#rows<{ body: string }>(sql, key)[0]?.body;
  }

  /**
   * Records a delivery that waits.
   *
   * @param row undefined for one that no longer does.
   * @param body of one that did not wait before.
   */
  change(key: string, row: Waiting | undefined, body: string | undefined): void {
    if (row === undefined) {
      for (const table of ["pending", "replaying"]) this.#rows(`DELETE FROM ${table} WHERE key = ?`, key);
      return;
    }
    const table = row.isReplay ? "replaying" : "pending";
    if (body === undefined) {
      this.#rows(`UPDATE ${table} SET (${CHANGED}) = (?, ?, ?, ?, ?, ?) WHERE key = ?`, ...changedOf(row), key);
    } else {
      const values = [key, row.type, row.resource, body, ...changedOf(row)];
      this.#rows(`REPLACE INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...values);
    }
  }

  /** The finished deliveries that are listed, the newest first, each with its number. */
  finished({ finished, recent }: Progress): (Finished & { number: number })[] {
    const chunks = this.#rows<{ number: number; deliveries: string }>(
      "SELECT number, deliveries FROM history ORDER BY number DESC",
    ).map((chunk) => ({ ...chunk, deliveries: JSON.parse(chunk.deliveries) as Finished[] }));
    return [{ number: finished - recent.length, deliveries: recent }, ...chunks]
      .flatMap(({ number, deliveries }) =>
        deliveries.map((one, index) => ({ ...one, number: number + index })).toReversed(),
      )
      .filter(({ number }) => number >= finished - MAX_FINISHED);
  }

  /** Forgets everything. The object may live on. */
  async forget(): Promise<void> {
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
    this.#storage.sql.exec(TABLES);
  }
}
