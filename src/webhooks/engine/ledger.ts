import type { Configuration } from "./database.ts";
import { isOnlyWithin, isWithin } from "./due.ts";
import { laneOf, Queue, type Waiting } from "./queue.ts";
import { type NewEvent, Reader } from "./reader.ts";
import { newSecret, type Secrets } from "./signing.ts";
import { type Happening, next } from "./state.ts";
import type { Finished, Progress } from "./progress.ts";
import { eventId, type Store } from "./store.ts";

/** The type of the message that the feed lost the place of a webhook. */
export const RESET = "feed.reset";
export const MAX_PENDING = 1_000;
/** Deliveries that one transaction records, at most. */
const RECORDED_AT_ONCE = 20;

/** A delivery of an event that was not attempted yet. */
export const newRow = (
  { place: key, type, resource }: Pick<NewEvent, "place" | "type" | "resource">,
  isReplay: boolean,
  nextAttemptAt: number,
): Waiting => {
  const never = { attempts: 0, refusedSince: null, lastAttemptAt: null, response: null, error: null };
  return { key, type, resource, isReplay, nextAttemptAt, ...never };
};

/** What is known of a webhook and its deliveries. It is in memory, and recorded from time to time: a crash loses the rest. */
export class Ledger {
  readonly #store: Store;
  readonly progress: Progress;
  readonly queue: Queue;
  main: Reader;
  replay: Reader | undefined;
  /** Undefined until the database was asked. */
  known: Configuration | undefined;
  /**
   * Counts the addresses, the secrets, the times in which the webhook was enabled, and the tests that succeeded. An answer belongs to the
   * era that it was asked in.
   */
  era = 0;
  #secrets: Secrets | undefined;
  /** The deliveries that changed since the last transaction, by their key. Undefined for one that no longer waits. */
  readonly #changed = new Map<string, { row: Waiting | undefined; body: string | undefined }>();
  #finished: Finished[] = [];
  #isChanged = false;

  constructor(store: Store) {
    const progress = store.progress();
    [this.#store, this.progress, this.#secrets] = [store, progress, store.secrets()];
    this.queue = store.queue();
    this.main = new Reader(progress.place, undefined, progress.highest);
    this.replay = progress.replay === null ? undefined : new Reader(progress.replay.place, progress.replay.end);
  }

  get readers(): Reader[] {
    return this.replay === undefined ? [this.main] : [this.main, this.replay];
  }

  /** Deliveries that may still wait, beside those that do and those in the windows. */
  get room(): number {
    return MAX_PENDING - this.queue.size - this.main.size - (this.replay?.size ?? 0);
  }

  /** Whether enough has finished for a transaction. */
  get isFull(): boolean {
    return this.#finished.length >= RECORDED_AT_ONCE;
  }

  /** Whether the object has nothing to remember. */
  get isNew(): boolean {
    return this.#secrets === undefined && this.progress.finished === 0 && this.queue.size === 0;
  }

  /** The object makes its secret when it is first needed. */
  get secrets(): Secrets {
    return this.#secrets ?? this.keep({ newest: newSecret() });
  }

  keep(secrets: Secrets): Secrets {
    this.#store.saveSecrets(secrets);
    return (this.#secrets = secrets);
  }

  set(progress: Partial<Progress>): void {
    Object.assign(this.progress, progress);
    this.#isChanged = true;
  }

  happen(happening: Happening): void {
    const { health: before } = this.progress;
    const mayEnd = happening.kind === "taken" && (before.failedFrom !== null || before.suspect !== null);
    const hasLeft = mayEnd && before.outage !== null && this.queue.rows.some((row) => isWithin(row, before.outage));
    const health = next(before, { ...happening, hasLeft });
    this.set({ health });
    if (happening.kind !== "taken" || mayEnd) this.queue.quietUntil = 0;
    if (health.suspect === before.suspect || health.suspect === null) return;
    // Whether the stretch was an outage shows with one delivery that only it refused.
    let oldest: Waiting | undefined;
    for (const row of this.queue.rows)
      if (isOnlyWithin(row, health.suspect) && (row.lastAttemptAt ?? 0) < (oldest?.lastAttemptAt ?? Infinity))
        oldest = row;
    if (oldest !== undefined)
      this.queue.put({ ...oldest, nextAttemptAt: Math.min(oldest.nextAttemptAt, happening.at) });
  }

  bodyOf = (key: string): string | undefined => this.#changed.get(key)?.body ?? this.#store.body(key);

  /** @param body of a delivery that did not wait before. */
  put(row: Waiting, body?: string): void {
    this.queue.put(row);
    this.#changed.set(row.key, { row, body: body ?? this.#changed.get(row.key)?.body });
  }

  /** Drops the deliveries that wait and are so. */
  drop(isDropped: (row: Waiting) => boolean): void {
    for (const row of [...this.queue.rows].filter(isDropped)) this.#remove(row);
  }

  #remove(row: Waiting): void {
    this.queue.remove(row);
    this.#changed.set(row.key, { row: undefined, body: undefined });
  }

  finish(row: Waiting, status: Finished["status"], error: Finished["error"] = row.error): void {
    if (this.queue.get(row.key) !== undefined) this.#remove(row);
    const head = this.queue.head(laneOf(row));
    // The hour of a resource that is refused goes on.
    if (status === "failed" && head?.refusedSince === null) this.put({ ...head, refusedSince: row.refusedSince });
    const { key, type, attempts, lastAttemptAt, response, isReplay } = row;
    const at = lastAttemptAt ?? Date.now();
    this.#finished.push({ event: eventId(key), type, status, attempts, lastAttemptAt: at, response, error, isReplay });
    this.#isChanged = true;
  }

  /** Goes to a place, and drops every event that waits. A reset stays: the receiver still has what the feed lost. */
  jump(place: string): void {
    this.drop(({ type }) => type !== RESET);
    this.main = new Reader(place);
    this.stopReplay();
  }

  /** Ends a replay, with its deliveries that wait. */
  stopReplay(): void {
    this.drop(({ isReplay }) => isReplay);
    this.replay = undefined;
  }

  /** Records everything in one transaction. */
  record(now: number): void {
    for (const reader of this.readers) {
      for (const event of reader.stragglers()) {
        this.put(newRow(event, reader.isReplay, now), event.body);
        reader.set(event.place, "done");
      }
    }
    this.queue.endPauses(now);
    const { progress } = this;
    const { place: at = "", end = "" } = this.replay ?? {};
    const replay = at < end ? { place: at, end } : null;
    const isMoved = this.main.place !== progress.place || replay?.place !== progress.replay?.place;
    if (!this.#isChanged && !isMoved && this.#changed.size === 0) return;
    const { place, furthest } = this.main;
    const after: Progress = { ...progress, place, highest: furthest > place ? furthest : place, replay };
    this.#store.transaction(() => {
      for (const [key, { row, body }] of this.#changed) this.#store.change(key, row, body);
      this.#store.save(after, this.#finished);
    });
    Object.assign(progress, after);
    if (replay === null) this.replay = undefined;
    this.#changed.clear();
    this.#finished = [];
    this.#isChanged = false;
  }
}
