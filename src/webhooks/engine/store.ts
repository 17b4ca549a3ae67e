import { type Endpoint, type Outcome, Queue, type Waiting } from "./schedule.ts";

/** Finished deliveries that are kept. */
const MAX_FINISHED = 1_000;

// Tables and columns are only added, so that the version before can run on them. Those without a rowid write one row where others write
// two.
const TABLES = `
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS pending (
    key TEXT PRIMARY KEY, type TEXT NOT NULL, resource TEXT NOT NULL, body TEXT NOT NULL, attempts INTEGER NOT NULL,
    first_failure_at INTEGER, last_attempt_at INTEGER, next_attempt_at INTEGER NOT NULL, response INTEGER, error TEXT
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS unordered (resource TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS finished (
    slot INTEGER PRIMARY KEY, number INTEGER NOT NULL, event TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
    attempts INTEGER NOT NULL, last_attempt_at INTEGER NOT NULL, response INTEGER, error TEXT
  );
`;

const WAITING = `key, type, resource, attempts, first_failure_at AS firstFailureAt, last_attempt_at AS lastAttemptAt,
  next_attempt_at AS nextAttemptAt, response, error`;

/** What an object remembers, beside its deliveries and its secret. Times are in milliseconds since the epoch. */
export interface Progress extends Endpoint {
  /** `<id>-<tag>` of the webhook: an alarm may wake an object that does not know it. */
  name: string;
  /** The place in the feed up to which it has read. Empty before it starts. */
  place: string;
  /** The highest place that it ever read. A replay sets only the other one back. */
  highest: string;
  /** Raised by each jump of the place. A wave from before it must not set the place. */
  generation: number;
  /** How often the feed lost the place, and when it last did. */
  resets: number;
  resetAt: number;
  /** Deliveries that ever finished. */
  finished: number;
  /** Of the present hold: failed probes, and when the next one is due. */
  probes: number;
  probeAt: number;
  lastSuccessAt: number | null;
  /** The configuration as it was last seen. */
  url: string;
  enabled: boolean;
  /** Since when the database has no row of the webhook. */
  goneSince: number | null;
}

const START: Omit<Progress, "name"> = {
  place: "",
  highest: "",
  generation: 0,
  resets: 0,
  resetAt: 0,
  finished: 0,
  failures: 0,
  heldUntil: 0,
  probes: 0,
  probeAt: 0,
  lastSuccessAt: null,
  url: "",
  enabled: true,
  goneSince: null,
};

export interface Secrets {
  newest: string;
  /** The one before, and until when it signs too. */
  previous?: { secret: string; until: number };
}

/** A delivery that has ended. */
interface Finished {
  /** Counts the finished deliveries. */
  number: number;
  /** The id of the event. */
  event: string;
  type: string;
  status: "delivered" | "failed";
  attempts: number;
  lastAttemptAt: number;
  response: number | null;
  error: NonNullable<Outcome["error"]> | null;
}

/** The id that a receiver sees. */
export const eventId = (key: string): string => (key.startsWith("msg_") ? key : `evt_${key}`);

/** The columns that attempts change, in the order of the table. */
const historyOf = (row: Waiting) => [
  row.attempts,
  row.firstFailureAt,
  row.lastAttemptAt,
  row.nextAttemptAt,
  row.response,
  row.error,
];

/** The storage of one object. Every method takes effect at once, and in the transaction around it. */
export class Store {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#create();
  }

  #create(): void {
    this.#storage.sql.exec(TABLES);
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

  /** Undefined for an object that does not know its webhook yet. */
  progress(): Progress | undefined {
    const stored = this.#read<Progress>("progress");
    // A version before may have stored less.
    return stored && { ...START, ...stored };
  }

  /** The progress of an object that starts. */
  begin(name: string): Progress {
    const progress = { ...START, name };
    this.save(progress);
    return progress;
  }

  save(progress: Progress): void {
    this.#write("progress", progress);
  }

  secrets(): Secrets | undefined {
    return this.#read("secrets");
  }

  saveSecrets(secrets: Secrets): void {
    this.#write("secrets", secrets);
  }

  queue(): Queue {
    const unordered = this.#rows<{ resource: string }>("SELECT resource FROM unordered");
    return new Queue(
      this.#rows<Waiting>(`SELECT ${WAITING} FROM pending ORDER BY key`),
      unordered.map(({ resource }) => resource),
    );
  }

  /** The body of a delivery that waits. Undefined when it no longer does. */
  body(key: string): string | undefined {
    return this.#rows<{ body: string }>("SELECT body FROM pending WHERE key = ?", key)[0]?.body;
  }

  add(row: Waiting, body: string): void {
    const { key, type, resource } = row;
    this.#rows(
      "REPLACE INTO pending VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      key,
      type,
      resource,
      body,
      ...historyOf(row),
    );
  }

  /** Changes nothing when the delivery no longer waits. */
  update(row: Waiting): void {
    this.#rows(
      `UPDATE pending SET (attempts, first_failure_at, last_attempt_at, next_attempt_at, response, error) = (?, ?, ?, ?, ?, ?)
       WHERE key = ?`,
      ...historyOf(row),
      row.key,
    );
  }

  remove(key: string): void {
    this.#rows("DELETE FROM pending WHERE key = ?", key);
  }

  /** Removes the events after a place. Messages of the service stay. */
  removeAfter(place: string): void {
    this.#rows("DELETE FROM pending WHERE key > ? AND type <> 'feed.reset'", place);
  }

  removeAll(): void {
    this.#rows("DELETE FROM pending");
    this.#rows("DELETE FROM unordered");
  }

  setUnordered(resource: string, isUnordered: boolean): void {
    this.#rows(
      isUnordered ? "INSERT OR IGNORE INTO unordered VALUES (?)" : "DELETE FROM unordered WHERE resource = ?",
      resource,
    );
  }

  /** A ring: a row takes the place of the one that finished longest ago, so that nothing is deleted. */
  finish(row: Finished): void {
    const { number, event, type, status, attempts, lastAttemptAt, response, error } = row;
    const values = [number % MAX_FINISHED, number, event, type, status, attempts, lastAttemptAt, response, error];
    this.#rows("REPLACE INTO finished VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ...values);
  }

  /** The finished deliveries, the newest first. */
  finished(): Finished[] {
    return this.#rows(
      `SELECT number, event, type, status, attempts, last_attempt_at AS lastAttemptAt, response, error
       FROM finished ORDER BY number DESC`,
    );
  }

  /** Forgets everything. The object may live on. */
  async forget(): Promise<void> {
    await this.#storage.deleteAlarm();
    await this.#storage.deleteAll();
    this.#create();
  }
}
