/** What an attempt takes of what may run at once. */
export interface Kind {
  /** The key of its delivery. */
  key: string;
  resource: string;
  /** Whether the receiver refused the resource last. */
  isRefused: boolean;
  isReplay: boolean;
}

/** Attempts that run at once, never two of one resource. They may outlive the run of the alarm that started them. */
export class Parallel {
  readonly #running = new Map<string, { kind: Kind; end: Promise<void> }>();

  get size(): number {
    return this.#running.size;
  }

  has = (resource: string): boolean => this.#running.has(resource);

  /** Whether this delivery is one of them. */
  runs = ({ key, resource }: Pick<Kind, "key" | "resource">): boolean => this.#running.get(resource)?.kind.key === key;

  count(part: "isRefused" | "isReplay"): number {
    return [...this.#running.values()].filter(({ kind }) => kind[part]).length;
  }

  /** @param run never fails. */
  start(kind: Kind, run: () => Promise<void>): void {
    const end = run().then(() => void this.#running.delete(kind.resource));
    // The end of the object fails it.
    end.catch(() => {});
    this.#running.set(kind.resource, { kind, end });
  }

  /** Waits until one of them ends. */
  async next(): Promise<void> {
    await Promise.race([...this.#running.values()].map(({ end }) => end));
  }
}
