/** An event that the feed has, and that the webhook wants. */
export interface NewEvent {
  place: string;
  type: string;
  resource: string;
  body: string;
}

/** Rows of a read: an event, or only the place of one that the webhook does not want. */
export interface Read extends Omit<NewEvent, "body"> {
  event: string | null;
  /** Whether the feed goes on after the window of this read. */
  later: 0 | 1;
}

type State = "ready" | "running" | "done";

/** Events that have finished behind one that has not, at most. A crash delivers them again. */
const MAX_AHEAD = 23;

/**
 * A sliding window over the feed: what was read, in its order, until it is recorded. An event that has finished, or that waits in the
 * queue, is done. The place moves over those that are done, in the order of the feed.
 */
export class Reader {
  readonly isReplay: boolean;
  /** The last place of a replay. */
  readonly end: string | undefined;
  /** Everything up to it is recorded. */
  place: string;
  /** The last place whose event the receiver may have. After a crash, it can be ahead of what is read again. */
  furthest: string;
  /** Everything up to it is recorded, or in the window. The next read begins at its row. */
  readTo: string;
  /** Whether the feed had more than the last read returned. */
  hasMore = true;
  readonly #window = new Map<string, { event: NewEvent; state: State }>();

  constructor(place: string, end?: string, furthest = place) {
    this.place = this.readTo = place;
    this.furthest = furthest > place ? furthest : place;
    this.end = end;
    this.isReplay = end !== undefined;
  }

  get size(): number {
    return this.#window.size;
  }

  /**
   * Takes what was read from `readTo` on.
   *
   * @param limit of its events. The row of the place comes beside them.
   * @param waits whether an event is in the queue already.
   * @returns whether it had an event that the webhook wants.
   */
  take(rows: readonly Read[], limit: number, waits: (place: string) => boolean): boolean {
    let isNew = false;
    for (const { place, type, resource, event } of rows) {
      if (place <= this.readTo || (this.end !== undefined && place > this.end)) continue;
      this.readTo = place;
      if (event === null || waits(place)) continue;
      this.#window.set(place, { event: { place, type, resource, body: event }, state: "ready" });
      isNew = true;
    }
    const last = rows.at(-1);
    this.hasMore = rows.length > limit || last?.later === 1;
    if (this.end !== undefined && (!this.hasMore || (last?.place ?? "") >= this.end)) {
      this.hasMore = false;
      this.readTo = this.end;
    }
    this.#advance();
    return isNew;
  }

  /** The events that may start, in their order. */
  *ready(): Generator<NewEvent> {
    for (const { event, state } of this.#window.values()) if (state === "ready") yield event;
  }

  /** Whether the attempt of this event is one of this window. */
  runs = (place: string): boolean => this.#window.get(place)?.state === "running";

  set(place: string, state: State): void {
    const entry = this.#window.get(place);
    if (entry === undefined) return;
    entry.state = state;
    if (state !== "ready" && place > this.furthest) this.furthest = place;
    if (state === "done") this.#advance();
  }

  /** Lets an event start again whose attempt says nothing, unless nobody wants it any more, or it waits in the queue by now. */
  back(place: string): void {
    if (this.runs(place)) this.set(place, "ready");
  }

  /** Takes out the events of every other type. Of an attempt that runs, only a success is recorded then. */
  keep(types: ReadonlySet<unknown>): void {
    for (const entry of this.#window.values()) if (!types.has(entry.event.type)) entry.state = "done";
    this.#advance();
  }

  /** Events that the place cannot pass, when more than `MAX_AHEAD` have finished behind them. They have to wait in the queue instead. */
  stragglers(): NewEvent[] {
    const entries = [...this.#window.values()];
    const isAhead = entries.filter(({ state }) => state === "done").length > MAX_AHEAD;
    const last = entries.findLastIndex(({ state }) => state === "done");
    return isAhead ? entries.slice(0, last).flatMap(({ event, state }) => (state === "done" ? [] : event)) : [];
  }

  #advance(): void {
    for (const [place, { state }] of this.#window) {
      if (state !== "done") return;
      this.#window.delete(place);
      this.place = place;
    }
    this.place = this.readTo;
  }
}
