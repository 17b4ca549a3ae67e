/** Milliseconds from the end of a look to the next one, at least: changes in between become one page. */
const PAUSE = 100;
/** The same before the second look after a nudge, which sees every change whose nudge an isolate has left out. */
const SECOND_PAUSE = 150;
/** Pauses between two looks while isolates may not know the hub, and after one that failed. */
const PAUSES = 10;

/** When a hub looks at the feed: one look at a time, soon after a nudge, and only while somebody listens. Counts, because clocks are set back. */
export class Looks {
  readonly #look: () => Promise<void>;
  readonly #isWanted: () => boolean;
  readonly #onError: (error: unknown) => void;
  #looking: Promise<void> | undefined;
  #isAwake = false;
  /** Looks that nudges ask for. */
  #soon = 0;
  /** Pauses in which it looks now and then. */
  #pauses = 0;
  /** When the last one started, in milliseconds since the epoch. */
  startedAt = 0;

  /**
   * @param look reads the feed to its end.
   * @param isWanted whether somebody listens.
   */
  constructor(look: () => Promise<void>, isWanted: () => boolean, onError: (error: unknown) => void) {
    [this.#look, this.#isWanted, this.#onError] = [look, isWanted, onError];
  }

  /** Looks now, or waits for the look that runs. */
  now(): Promise<void> {
    if (this.#looking === undefined) {
      this.startedAt = Date.now();
      this.#looking = this.#look().finally(() => (this.#looking = undefined));
    }
    return this.#looking;
  }

  /** The feed has a new event. */
  nudge(): void {
    this.#soon = 2;
    void this.go();
  }

  /** Looks each second, for so many of them. */
  poll(seconds: number): void {
    this.#pauses = PAUSES * seconds;
    void this.go();
  }

  /** Goes on with what is asked for. Without a listener, it waits for the next one. */
  async go(): Promise<void> {
    if (this.#isAwake) return;
    this.#isAwake = true;
    while (this.#isWanted() && this.#soon + this.#pauses > 0) {
      if (this.#soon > 0 || this.#pauses % PAUSES === 0) {
        if (this.#soon > 0) this.#soon--;
        await this.now().catch((error: unknown) => {
          this.#onError(error);
          this.#pauses = Math.max(this.#pauses, 2 * PAUSES);
        });
      }
      if (this.#pauses > 0) this.#pauses--;
      const pause = this.#soon === 1 ? SECOND_PAUSE : PAUSE;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    this.#isAwake = false;
  }
}
