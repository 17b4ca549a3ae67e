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

  #stopped = 0;
  #onGo = (): void => {};

  /** Lets the time stand still, for work that is not of this world, such as that on files. Returns what lets it go on. */
  stop(): () => void {
    this.#stopped++;
    let isStopped = true;
    return () => {
      if (isStopped && --this.#stopped === 0) this.#onGo();
      isStopped = false;
    };
  }

  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve));
  }

  /** Runs every event, also those that events bring about, until there is none, or until a time. */
  async run(until = Infinity): Promise<void> {
    await this.#settled();
    for (let next = this.#events.at(-1); next !== undefined && next.time <= until; next = this.#events.at(-1)) {
      this.#events.pop();
      if (next.run === undefined) continue;
      this.now = next.time;
      next.run();
      await this.#settled();
    }
    if (until !== Infinity) this.now = until;
  }

  async #settled(): Promise<void> {
    await settled();
    while (this.#stopped > 0) {
      await new Promise<void>((resolve) => (this.#onGo = resolve));
      await settled();
    }
  }
}
