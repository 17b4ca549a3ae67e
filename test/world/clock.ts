/** Waits until every promise that can settle has settled. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

export interface Timer {
  readonly time: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** The time of a world. It stands still while code runs, and then jumps to the next event. */
export class Clock {
  /** Milliseconds since the epoch. */
  now: number;
  /** A binary heap: the earliest event is first. */
  readonly #events: Timer[] = [];
  #order = 0;

  constructor(start: number) {
    this.now = start;
  }

  /** Runs something after so many milliseconds. */
  after(milliseconds: number, run: () => void): Timer {
    const timer: Timer = { time: this.now + Math.max(0, milliseconds), order: this.#order++, run };
    const events = this.#events;
    let index = events.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, events[parent] as Timer)) break;
      events[index] = events[parent] as Timer;
      index = parent;
    }
    events[index] = timer;
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
    for (let next = this.#events[0]; next !== undefined && next.time <= until; next = this.#events[0]) {
      this.#take();
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

  /** Removes the first event. */
  #take(): void {
    const events = this.#events;
    const last = events.pop();
    if (last === undefined || events.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child + 1 < events.length && isBefore(events[child + 1] as Timer, events[child] as Timer)) child++;
      if (child >= events.length || !isBefore(events[child] as Timer, last)) break;
      events[index] = events[child] as Timer;
      index = child;
    }
    events[index] = last;
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);
