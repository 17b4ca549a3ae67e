/** Milliseconds between the starts of two looks, at least: changes in between become one page. */
const BETWEEN = 100;
/** Milliseconds after a nudge until a look that sees every change whose nudge an isolate has left out. */
const SECOND_LOOK = 150;
/** Milliseconds until a look after one that failed, and between looks while isolates may not know the hub. */
const POLL = 1_000;

/** When a hub looks at the feed: one look at a time, soon after a nudge, and only while somebody listens. */
export class Looks {
  readonly #look: () => Promise<void>;
  readonly #isWanted: () => boolean;
  readonly #onError: (error: unknown) => void;
  #running: Promise<void> | undefined;
  /** When the last one started, in milliseconds since the epoch. */
  startedAt = 0;
  /** One has to start after this time. */
  #after = 0;
  #next: { at: number; timer: ReturnType<typeof setTimeout> } | undefined;

  /**
   * @param look reads the feed to its end.
   * @param isWanted whether somebody listens.
   */
  constructor(look: () => Promise<void>, isWanted: () => boolean, onError: (error: unknown) => void) {
    [this.#look, this.#isWanted, this.#onError] = [look, isWanted, onError];
  }

  /** Looks now, or waits for the look that runs. */
  now(): Promise<void> {
    return (this.#running ??= this.#start().finally(() => {
      this.#running = undefined;
      this.again();
    }));
  }

  #start(): Promise<void> {
    this.startedAt = Date.now();
    return this.#look();
  }

  /** The feed has a new event. */
  nudge(): void {
    const now = Date.now();
    // Also for a listener that comes before then.
    this.#after = now + SECOND_LOOK;
    if (this.#isWanted()) this.#plan(now);
  }

  /** Plans the look that a nudge asked for, now that somebody listens. */
  again(): void {
    if (this.#isWanted() && this.#after > this.startedAt) this.#plan(this.#after);
  }

  /** Looks each second, so many times. Without a listener it waits for the next one. */
  poll(times: number): void {
    if (times === 0) return;
    setTimeout(() => {
      if (this.#isWanted()) this.#plan(Date.now());
      this.poll(times - 1);
    }, POLL);
  }

  /** Looks at a time, or earlier. */
  #plan(time: number): void {
    const now = Date.now();
    // Soon, also when the clock was set back.
    const at = Math.min(Math.max(time, this.startedAt + BETWEEN), now + POLL);
    if (this.#next !== undefined) {
      if (this.#next.at <= at) return;
      clearTimeout(this.#next.timer);
    }
    const look = () => {
      this.#next = undefined;
      this.now().catch((error: unknown) => {
        this.#onError(error);
        this.#plan(Date.now() + POLL);
      });
    };
    this.#next = { at, timer: setTimeout(look, at - now) };
  }
}
