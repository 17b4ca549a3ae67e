interface Entry<Value> {
  readonly value: Value;
  /** When the read of the value began, in milliseconds since the epoch. The read may have been slow. */
  readonly readAt: number;
  readonly bytes: number;
}

/** A cache in the memory of an isolate. The oldest entries are dropped first. */
export class IsolateCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxEntries: number, maxBytes = Infinity) {
    this.#maxEntries = maxEntries;
    this.#maxBytes = maxBytes;
  }

  /** The entry of a key, if it is younger than `milliseconds`. */
  get(key: string, milliseconds: number): Entry<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const age = Date.now() - entry.readAt;
    // An entry from the future is stale too: the clock may have been set back.
    return age >= 0 && age < milliseconds ? entry : undefined;
  }

  /** Stores a value, unless it is larger than the whole cache, or a slow read brings it after a later one. */
  set(key: string, value: Value, readAt: number, bytes = 0): void {
    const present = this.get(key, Infinity);
    if (present !== undefined && present.readAt > readAt) return;
    this.delete(key);
    if (bytes > this.#maxBytes) return;
    while (this.#entries.size >= this.#maxEntries || this.#bytes + bytes > this.#maxBytes) {
      const [oldest] = this.#entries.keys();
      if (oldest === undefined) break;
      this.delete(oldest);
    }
    this.#entries.set(key, { value, readAt, bytes });
    this.#bytes += bytes;
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
