/** Waits until every promise that can settle has settled. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

export interface Timer {
  readonly time: number;
  run: (() => void) | undefined;
}

/** The time of a world. It stands still while code runs, and then jumps to the next event. */
export class Clock {
  /** Milliseconds since the epoch. */
  now: number;
  /** The next event is the last one. Of two at one time, the one that was set first is the next. */
  readonly #events: Timer[] = [];

  constructor(start: number) {
    this.now = start;
  }

  /** Runs something after so many milliseconds. */
  after(milliseconds: number, run: () => void): Timer {
    const timer: Timer = { time: this.now + Math.max(0, milliseconds), run };
    this.#events.splice(this.#events.findLastIndex(({ time }) => time > timer.time) + 1, 0, timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    if (timer !== undefined) timer.run = undefined;
  }

  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve));
  }

  /** Runs every event, also those that events bring about, until there is none, or until a time. */
  async run(until = Infinity): Promise<void> {
    await settled();
    for (let next = this.#events.at(-1); next !== undefined && next.time <= until; next = this.#events.at(-1)) {
      this.#events.pop();
      if (next.run === undefined) continue;
      this.now = next.time;
      next.run();
      await settled();
    }
    if (until !== Infinity) this.now = until;
  }
}
