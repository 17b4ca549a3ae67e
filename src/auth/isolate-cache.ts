/** Entries that a cache keeps. */
export const MAX_ENTRIES = 1_000;

/** What an isolate remembers for a time, the oldest entries first. */
export class IsolateCache<Value> {
  readonly #milliseconds: number;
  readonly #entries = new Map<string, { value: Value; readAt: number }>();

  /** @param seconds for which an entry counts. */
  constructor(seconds: number) {
    this.#milliseconds = seconds * 1_000;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const age = Date.now() - entry.readAt;
    // A clock that was set back must not make an entry last.
    return age >= 0 && age < this.#milliseconds ? entry.value : undefined;
  }

  /** @param readAt when the value was asked for, in milliseconds since the epoch: it may have taken its time. */
  set(key: string, value: Value, readAt: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= MAX_ENTRIES) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, readAt });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
