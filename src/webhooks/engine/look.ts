import { encodeEventCursor } from "../../feed/place.ts";
import { type Configuration, look, readEnd } from "./database.ts";
import { messageBody, messageId } from "./delivery.ts";
import { type Ledger, newRow, RESET } from "./ledger.ts";
import { Reader } from "./reader.ts";

/** Milliseconds after a change of the configuration, for which isolates may not know it, and nudge nobody. */
export const LONGEST_WAIT = 12_000;

/** Why a webhook delivers nothing for now. */
export type Stop = "deleted" | "disabled";

/** What an object sees of the database: the configuration of its webhook, and the feed from its places on. */
export class Look {
  readonly #ledger: Ledger;
  readonly #d1: D1Database;
  at = 0;
  /** When it last asked for new events. */
  #askedAt = 0;
  /** A look has to begin at this time or later: something may have come. */
  #expectedUntil = 0;

  constructor(ledger: Ledger, d1: D1Database) {
    [this.#ledger, this.#d1] = [ledger, d1];
  }

  /** Something new may show up to so many milliseconds from now, `LONGEST_WAIT` at most. */
  expect(within: number): void {
    const now = Date.now();
    // A time further away was made by a clock that was ahead.
    this.#expectedUntil = Math.max(Math.min(this.#expectedUntil, now + LONGEST_WAIT), now + within);
  }

  isExpected(now: number): boolean {
    // The same.
    return Math.min(this.#askedAt, now) < this.#expectedUntil && this.#expectedUntil <= now + LONGEST_WAIT;
  }

  /**
   * Looks again.
   *
   * @param limits events to read, at most: of the main reader, and of the replay.
   */
  async again(limits: readonly [main: number, replay: number]): Promise<Stop | undefined> {
    const ledger = this.#ledger;
    const { readers } = ledger;
    const askedAt = Date.now();
    const { configuration, rows, isLost } = await this.ask(limits);
    this.at = Date.now();
    if (limits[0] > 0) this.#askedAt = askedAt;
    if (configuration === undefined) return "deleted";
    if (ledger.main.place === "") ledger.main = new Reader(configuration.place);
    this.#learn(configuration);
    if (configuration.enabled === 0) return "disabled";
    // Its place was not known, or a call has moved it meanwhile.
    if (readers.some((reader) => !ledger.readers.includes(reader))) return undefined;
    if (isLost) return this.#reset();
    for (const [index, reader] of readers.entries()) {
      const { [index]: limit = 0 } = limits;
      if (limit > 0 && reader.take(rows[index] ?? [], limit, (key) => ledger.queue.get(key) !== undefined))
        this.expect(1);
    }
    return undefined;
  }

  /** Asks for the configuration and for events, and finds out whether the feed has lost what the receiver may have. */
  async ask(limits: readonly number[]) {
    const { main, readers, progress } = this.#ledger;
    const { furthest, readTo } = main;
    const known = readers.filter(({ place }) => place !== "");
    const questions = known.map((reader, index) => ({ place: reader.readTo, limit: limits[index] ?? 0 }));
    // Of what came before a crash, only its last place is known.
    const isAhead = furthest > readTo;
    if (isAhead) questions.push({ place: furthest, limit: 0 });
    const { configuration, rows } = await look(this.#d1, progress.name, questions);
    const isLost = rows[0]?.[0]?.place !== readTo || (isAhead && rows.at(-1)?.[0]?.place !== furthest);
    return { configuration, rows, isLost };
  }

  /** Takes over the configuration. What waits for another receiver, or for one that is back, is due. */
  #learn(configuration: Configuration): void {
    const ledger = this.#ledger;
    const { progress, known } = ledger;
    const { url, types } = configuration;
    const enabled = configuration.enabled === 1;
    ledger.known = configuration;
    if (url !== progress.url || enabled !== progress.enabled || progress.goneSince !== null) {
      const isFirst = progress.url === "";
      ledger.set({ url, enabled, goneSince: null });
      ledger.era++;
      ledger.queue.endPauses(Infinity);
      if (enabled && !isFirst) ledger.happen({ kind: "renewed", at: Date.now() });
    }
    if (types === known?.types) return;
    const wanted = new Set<unknown>(JSON.parse(types));
    ledger.drop(({ type }) => type !== RESET && !wanted.has(type));
    for (const reader of ledger.readers) reader.keep(wanted);
  }

  /**
   * Goes to the present end of the feed, after it lost the place. A `feed.reset` tells the receiver to list everything with a bookmark
   * that has seen this end.
   */
  async #reset(): Promise<undefined> {
    const ledger = this.#ledger;
    const { place, bookmark } = await readEnd(this.#d1);
    const now = Date.now();
    const id = messageId();
    ledger.drop(() => true);
    ledger.jump(place);
    const row = newRow({ place: id, type: RESET, resource: id }, false, now);
    ledger.put(row, messageBody(id, RESET, { cursor: encodeEventCursor(place), bookmark }));
    ledger.set({ resets: ledger.progress.resets + 1, resetAt: now });
    ledger.record(now);
  }
}
