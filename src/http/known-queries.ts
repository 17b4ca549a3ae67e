/** Maximum number of characters of a query that is remembered. */
export const MAX_KNOWN_LENGTH = 128;
/** Maximum number of remembered queries of an operation. */
export const MAX_KNOWN_QUERIES = 100;
/** Milliseconds after which a query that nobody sent again makes room. */
export const UNUSED_MILLISECONDS = 60_000;

interface Known<Output> {
  readonly output: Output;
  /** In milliseconds since the epoch. */
  usedAt: number;
}

/**
 * The valid queries of an operation by their text, so that most lists validate nothing. Handlers share an output, so it is
 * frozen. An output with an object, a cursor or a list, is not remembered: it differs with almost every request. A new query takes the
 * place of one that nobody has used for a minute, and of no other. So a client that sends many queries cannot push out those of the others.
 */
export class KnownQueries<Output extends object> {
  /** The least recently used one is first. */
  readonly #queries = new Map<string, Known<Output>>();

  has(text: string): boolean {
    return this.#queries.has(text);
  }

  get(text: string): Output | undefined {
    const known = this.#queries.get(text);
    if (known === undefined) return undefined;
    known.usedAt = Date.now();
    this.#queries.delete(text);
    this.#queries.set(text, known);
    return known.output;
  }

  add(text: string, output: Output): void {
    if (text.length > MAX_KNOWN_LENGTH) return;
    if (Object.values(output).some((value) => typeof value === "object")) return;
    const now = Date.now();
    for (const [old, { usedAt }] of this.#queries) {
      const unused = now - usedAt;
      // A use in the future does not count: the clock may have been set back.
      if (unused >= 0 && unused < UNUSED_MILLISECONDS) break;
      this.#queries.delete(old);
    }
    if (this.#queries.size < MAX_KNOWN_QUERIES) this.#queries.set(text, { output: Object.freeze(output), usedAt: now });
  }
}
