import { encodeEventCursor } from "../../feed/place.ts";
import type { Configuration, Database } from "./database.ts";
import { messageBody, messageId } from "./delivery.ts";
import { type Ledger, newRow, RESET } from "./ledger.ts";

/** Why a webhook delivers nothing for now. */
export type Stop = "deleted" | "disabled";

/** What an object sees of the database: the configuration of its webhook, and the feed from its places on. */
export class Look {
  readonly #ledger: Ledger;
  readonly #database: Database;
  /** When the database was last asked. */
  at = 0;
  /** Whether there was an event. */
  hasFound = false;

  constructor(ledger: Ledger, database: Database) {
    [this.#ledger, this.#database] = [ledger, database];
  }

  /**
   * Looks again.
   *
   * @param limits events to read, at most: of the main reader, and of the replay.
   */
  async again(limits: readonly [main: number, replay: number]): Promise<Stop | undefined> {
    const ledger = this.#ledger;
    if (ledger.main.place === "" && !(await this.begin())) return "deleted";
    const { readers } = ledger;
    const asked = readers.map(({ readFrom: place }, index) => ({ place, limit: limits[index] ?? 0 }));
    const { furthest, readFrom } = ledger.main;
    // Of what came before a crash, only its last place is known.
    const isAhead = furthest > readFrom;
    const questions = isAhead ? [...asked, { place: furthest, limit: 0 }] : asked;
    const { configuration, rows } = await this.#database.look(ledger.progress.name, questions);
    this.at = Date.now();
    if (configuration === undefined) return "deleted";
    this.#learn(configuration);
    if (configuration.enabled === 0) return "disabled";
    this.hasFound = false;
    // A call has moved a place meanwhile.
    if (readers.some((reader) => !ledger.readers.includes(reader))) return undefined;
    if (rows[0]?.[0]?.place !== readFrom || (isAhead && rows.at(-1)?.[0]?.place !== furthest)) return this.#reset();
    for (const [index, reader] of readers.entries()) {
      const { limit = 0 } = asked[index] ?? {};
      if (limit > 0 && reader.take(rows[index] ?? [], limit, (key) => ledger.queue.get(key) !== undefined))
        this.hasFound = true;
    }
    return undefined;
  }

  /** Starts at the place of the row. Returns whether there is one. */
  async begin(): Promise<boolean> {
    const ledger = this.#ledger;
    const row = await this.#database.configuration(ledger.progress.name);
    if (row === undefined) return false;
    if (ledger.main.place === "") ledger.begin(row.place);
    return true;
  }

  /** Takes over the configuration. What waits for another receiver, or for one that is back, is due. */
  #learn(configuration: Configuration): void {
    const ledger = this.#ledger;
    const { progress, known } = ledger;
    const { url, types } = configuration;
    const enabled = configuration.enabled === 1;
    ledger.known = { ...configuration, era: ledger.era };
    if (url !== progress.url || enabled !== progress.enabled || progress.goneSince !== null) {
      const isFirst = progress.url === "";
      ledger.set({ url, enabled, goneSince: null });
      ledger.beginEra();
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
    const { place, bookmark } = await this.#database.end();
    const now = Date.now();
    const id = messageId();
    ledger.drop(() => true);
    ledger.jump(place);
    const row = newRow({ place: id, type: RESET, resource: id }, false, now);
    ledger.put(row, messageBody(id, RESET, { cursor: encodeEventCursor(place), bookmark }));
    ledger.set({ resets: ledger.progress.resets + 1, resetAt: now });
    ledger.record(now);
  }

  /** Disables the webhook, whose receiver is gone. Returns whether its address is still the one that is gone. */
  async disable({ url }: Pick<Configuration, "url">): Promise<boolean> {
    if (!(await this.#database.disable(this.#ledger.progress.name, url))) return false;
    this.#ledger.set({ enabled: false });
    this.#ledger.beginEra();
    return true;
  }
}
