import { isFailing, isOfOutage } from "./health.ts";
import { laneOf, Queue, type Waiting } from "./queue.ts";
import { type NewEvent, Reader } from "./reader.ts";
import { eventId, type Finished, type Progress, type Store } from "./store.ts";

/** The type of the message that the feed lost the place of a webhook. */
export const RESET = "feed.reset";
export const MAX_PENDING = 1_000;
/** Deliveries that one transaction records, at most. */
const RECORDED_AT_ONCE = 20;
/** Milliseconds for which a resource was refused before its events may be given up without a second attempt. */
const REFUSED_FOR_LONG = 30_000;

const NEVER_ATTEMPTED = { attempts: 0, refusedSince: null, lastAttemptAt: null, response: null, error: null };

/** A delivery of an event that was not attempted yet. */
export const newRow = (
  { place: key, type, resource }: Pick<NewEvent, "place" | "type" | "resource">,
  isReplay: boolean,
  nextAttemptAt: number,
): Waiting => ({ ...NEVER_ATTEMPTED, key, type, resource, isReplay, nextAttemptAt });

/** What is known of the deliveries of a webhook. It is in memory, and recorded from time to time: a crash loses the rest. */
export class Ledger {
  readonly #store: Store;
  readonly progress: Progress;
  readonly queue: Queue;
  main: Reader;
  replay: Reader | undefined;
  /** Until when the receiver wants no event of a resource. A crash forgets it. */
  readonly paused = new Map<string, number>();
  /** The deliveries that changed since the last transaction, by their key. Undefined for one that no longer waits. */
  readonly #changed = new Map<string, { row: Waiting | undefined; body: string | undefined }>();
  readonly #lanes = new Map<string, boolean>();
  #finished: Finished[] = [];
  #isChanged = false;

  constructor(store: Store, progress: Progress) {
    [this.#store, this.progress] = [store, progress];
    this.queue = store.queue();
    this.main = new Reader(progress.place);
    this.replay = progress.replay === null ? undefined : new Reader(progress.replay.place, progress.replay.end);
  }

  get readers(): Reader[] {
    return this.replay === undefined ? [this.main] : [this.main, this.replay];
  }

  /** Deliveries that may still wait, beside those that do and those in the windows. */
  get room(): number {
    return MAX_PENDING - this.queue.size - this.readers.reduce((sum, { size }) => sum + size, 0);
  }

  /** Whether enough has finished for a transaction. */
  get isFull(): boolean {
    return this.#finished.length >= RECORDED_AT_ONCE;
  }

  set(progress: Partial<Progress>): void {
    Object.assign(this.progress, progress);
    this.#isChanged = true;
  }

  /** Starts at a place. */
  begin(place: string): void {
    this.main = new Reader(place);
    this.#isChanged = true;
  }

  bodyOf = (key: string): string | undefined => this.#changed.get(key)?.body ?? this.#store.body(key);

  /** @param body of a delivery that did not wait before. */
  put(row: Waiting, body?: string): void {
    this.queue.put(row);
    this.#changed.set(row.key, { row, body: body ?? this.#changed.get(row.key)?.body });
  }

  /** Drops a delivery that waits. */
  drop(row: Waiting): void {
    this.queue.remove(row);
    this.#changed.set(row.key, { row: undefined, body: undefined });
  }

  /** Notes that a delivery has ended. */
  finish(row: Waiting, status: Finished["status"], error: Finished["error"] = row.error): void {
    if (this.queue.get(row.key) !== undefined) this.drop(row);
    const head = this.queue.head(laneOf(row));
    // The hour of a resource that is refused goes on.
    if (status === "failed" && head !== undefined && head.refusedSince === null)
      this.put({ ...head, refusedSince: row.refusedSince });
    const { key, type, attempts, lastAttemptAt, response, isReplay } = row;
    const at = lastAttemptAt ?? Date.now();
    this.#finished.push({ event: eventId(key), type, status, attempts, lastAttemptAt: at, response, error, isReplay });
    this.#isChanged = true;
  }

  setUnordered(lane: string, isUnordered: boolean): void {
    this.queue.setUnordered(lane, isUnordered);
    this.#lanes.set(lane, isUnordered);
  }

  /**
   * The delivery that may be given up when there is no room: of those that were refused while the receiver took others, or before and after
   * a test, the one with the most attempts, two at least. Without one, the oldest of a resource that is refused for long.
   *
   * @param isRunning whether it is being attempted.
   */
  weakest(now: number, isRunning: (row: Waiting) => boolean): Waiting | undefined {
    const { health } = this.progress;
    const { lastSuccessAt, testedAt } = health;
    const tookAt = Math.max(lastSuccessAt ?? 0, testedAt);
    let weakest: Waiting | undefined;
    for (const row of this.queue.rows) {
      const head = this.queue.head(laneOf(row)) ?? row;
      const since = head.refusedSince ?? Infinity;
      // What an outage refused is attempted once more first.
      const isRefusedBefore = !isOfOutage(row, health) && !isOfOutage(head, health);
      const isRefusedBetween = since < testedAt && !isFailing(health);
      const isRefused = (row.lastAttemptAt ?? 0) < tookAt ? since < tookAt && isRefusedBefore : isRefusedBetween;
      const mayGo = isRefused && (row.attempts >= 2 || since <= now - REFUSED_FOR_LONG);
      if (!mayGo || row.type === RESET || isRunning(row)) continue;
      if (weakest === undefined || goesBefore(row, weakest)) weakest = row;
    }
    return weakest;
  }

  /** Goes to a place, and drops every event that waits. A reset stays: the receiver still has what the feed lost. */
  jump(place: string): void {
    for (const row of this.queue.rows) if (row.type !== RESET) this.drop(row);
    for (const lane of this.queue.emptied()) this.setUnordered(lane, false);
    this.main = new Reader(place);
    this.stopReplay();
  }

  startReplay(place: string): void {
    this.replay = new Reader(place, this.main.place);
    this.#isChanged = true;
  }

  /** Ends a replay, with its deliveries that wait. */
  stopReplay(): void {
    for (const row of this.queue.rows) if (row.isReplay) this.drop(row);
    this.replay = undefined;
    this.#isChanged = true;
  }

  /** Records everything in one transaction. */
  record(now: number): void {
    for (const reader of this.readers) {
      for (const event of reader.stragglers()) {
        this.put(newRow(event, reader.isReplay, now), event.body);
        reader.set(event, "done");
      }
    }
    for (const lane of this.queue.emptied()) this.setUnordered(lane, false);
    for (const [resource, until] of this.paused) if (until <= now) this.paused.delete(resource);
    const { progress } = this;
    const replay = this.replay?.hasEnded === false ? { place: this.replay.place, end: this.replay.end ?? "" } : null;
    const isMoved = this.main.place !== progress.place || replay?.place !== progress.replay?.place;
    if (!this.#isChanged && !isMoved && this.#changed.size + this.#lanes.size === 0) return;
    const after: Progress = { ...progress, place: this.main.place, highest: this.main.place, replay };
    this.#store.transaction(() => {
      for (const [key, { row, body }] of this.#changed) this.#store.change(key, row, body);
      for (const [lane, isUnordered] of this.#lanes) this.#store.setUnordered(lane, isUnordered);
      this.#store.save(after, this.#finished);
    });
    Object.assign(progress, after);
    if (replay === null) this.replay = undefined;
    this.#changed.clear();
    this.#lanes.clear();
    this.#finished = [];
    this.#isChanged = false;
  }
}

/** The most attempts first, and then the oldest. */
const goesBefore = (a: Waiting, b: Waiting): boolean =>
  a.attempts === b.attempts ? a.key < b.key : a.attempts > b.attempts;
