/** Maximum number of entries. */
export const MAX_ENTRIES = 1_000;

/** A cache in the memory of an isolate. Entries expire, and the oldest are dropped first. */
export class IsolateCache<Value> {
  readonly #milliseconds: number;
  readonly #entries = new Map<string, { value: Value; readAt: number }>();

  /** @param seconds for which an entry is valid. */
  constructor(seconds: number) {
    this.#milliseconds = seconds * 1_000;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const age = Date.now() - entry.readAt;
    // An entry from the future is stale too: the clock may have been set back.
    return age >= 0 && age < this.#milliseconds ? entry.value : undefined;
  }

  /** @param readAt when the read of the value began, in milliseconds since the epoch. The read may have been slow. */
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
