/** What an attempt takes of what may run at once. */
export interface Kind {
  /** The key of its delivery. */
  key: string;
  resource: string;
  /** Whether the receiver refused the resource last. */
  isRefused: boolean;
  isReplay: boolean;
  startedAt: number;
  era: number;
  /** When it may be ended for another one, if all run that may. */
  givesWayAt: number;
  /** Makes the event one that may start. */
  back: () => void;
}

export interface Running extends Kind {
  controller: AbortController;
  /** Whether nobody waits for it any more. */
  isAbandoned: boolean;
  end: Promise<void>;
}

/** Attempts that run at once, never two of one resource. They may outlive the run of the alarm that started them. */
export class Parallel {
  readonly #running = new Map<string, Running>();

  get size(): number {
    return this.#running.size;
  }

  /** The one that gives way first. */
  get first(): Running | undefined {
    let first: Running | undefined;
    for (const one of this.#running.values()) if (one.givesWayAt < (first?.givesWayAt ?? Infinity)) first = one;
    return first;
  }

  /** When the last one started, if it still runs. */
  get lastStart(): number {
    return this.#running.values().reduce((last, { startedAt }) => Math.max(last, startedAt), 0);
  }

  has = (resource: string): boolean => this.#running.has(resource);

  /** Whether this delivery is one of them. */
  runs = ({ key, resource }: Pick<Kind, "key" | "resource">): boolean => this.#running.get(resource)?.key === key;

  count(part: "isRefused" | "isReplay"): number {
    return this.#running.values().reduce((sum, kind) => sum + Number(kind[part]), 0);
  }

  /** @param run never fails. */
  start(kind: Kind, run: (running: Running) => Promise<void>): void {
    const running: Running = { ...kind, controller: new AbortController(), isAbandoned: false, end: Promise.resolve() };
    running.end = run(running).then(() => void (running.isAbandoned || this.#running.delete(kind.resource)));
    // The end of the object fails it.
    running.end.catch(() => {});
    this.#running.set(kind.resource, running);
  }

  /** Ends those of an earlier era that started before a time, without waiting for them. */
  abandon(era: number, before: number): void {
    for (const running of this.#running.values()) {
      if (running.era === era || running.startedAt > before) continue;
      this.#running.delete(running.resource);
      running.isAbandoned = true;
      running.back();
      running.controller.abort();
    }
  }

  /** Waits until one of them ends. */
  async next(): Promise<void> {
    await Promise.race(this.#running.values().map(({ end }) => end));
  }
}
