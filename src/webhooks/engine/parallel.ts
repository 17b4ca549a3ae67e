import type { Attempt } from "./plan.ts";
import type { Waiting } from "./queue.ts";

/** An attempt that runs. */
export interface Running extends Attempt {
  /** The address and the era of its start. */
  url: string;
  era: number;
  startedAt: number;
  /** When it may be ended for another one, if all run that may. */
  givesWayAt: number;
  /** Whether it asks an endpoint that fails whether it works. */
  isProbe: boolean;
  isCounted: boolean;
  controller: AbortController;
}

/** Attempts that run at once, never two of one resource. They may outlive the run of the alarm that started them. */
export class Parallel {
  readonly #running = new Map<string, { one: Running; end: Promise<void> }>();

  get size(): number {
    return this.#running.size;
  }

  get #all(): Running[] {
    return [...this.#running.values()].map(({ one }) => one);
  }

  /** The one that gives way first. */
  get first(): Running | undefined {
    return this.#all.toSorted((a, b) => a.givesWayAt - b.givesWayAt)[0];
  }

  /** When the last one started, if it still runs. */
  get lastStart(): number {
    return Math.max(0, ...this.#all.map(({ startedAt }) => startedAt));
  }

  get refused(): number {
    return this.#all.filter(({ isRefused }) => isRefused).length;
  }

  /** Those that are not the first attempt of their event. */
  get again(): number {
    return this.#all.filter(({ row }) => row.lastAttemptAt !== null).length;
  }

  get replayed(): number {
    return this.#all.filter(({ row }) => row.isReplay).length;
  }

  /** Whether one runs that started before a time. */
  startedBefore = (time: number): boolean => this.#all.some(({ startedAt }) => startedAt <= time);

  has = (resource: string): boolean => this.#running.has(resource);

  runs = ({ key, resource }: Waiting): boolean => this.#running.get(resource)?.one.row.key === key;

  /** Whether somebody still waits for an attempt. */
  awaits = (one: Running): boolean => this.#running.get(one.row.resource)?.one === one;

  /** @param run never fails, but with the object. */
  start(one: Running, run: (one: Running) => Promise<void>): void {
    const { resource } = one.row;
    const end = run(one).then(() => void (this.awaits(one) && this.#running.delete(resource)));
    end.catch(() => {});
    this.#running.set(resource, { one, end });
  }

  /** Ends those of an earlier era that started before a time, without waiting for them. Their events may start again. */
  abandon(era: number, before: number): void {
    for (const one of this.#all) {
      const { row, startedAt, reader, controller } = one;
      if (one.era === era || startedAt > before) continue;
      this.#running.delete(row.resource);
      reader?.back(row.key);
      controller.abort();
    }
  }

  /** Waits until one of them ends. */
  async next(): Promise<void> {
    await Promise.race(this.#running.values().map(({ end }) => end));
  }
}
