import { encodeEventCursor } from "../../feed/place.ts";
import type { Configuration, Database } from "./database.ts";
import { messageBody, messageId } from "./delivery.ts";
import { renewed } from "./health.ts";
import { type Ledger, newRow, RESET } from "./ledger.ts";

/** Why a webhook delivers nothing for now. */
export type Stop = "deleted" | "disabled";

/** What an object has seen of the database: the configuration of its webhook, and the feed from its places on. */
export class Look {
  readonly #ledger: Ledger;
  readonly #database: Database;
  configuration: Configuration | undefined;
  /** Counts the addresses, and the times in which the webhook was enabled. */
  era = 0;
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
    const { configuration, rows } = await this.#database.look(ledger.progress.name, asked);
    this.at = Date.now();
    if (configuration === undefined) return "deleted";
    this.#learn(configuration);
    if (configuration.enabled === 0) return "disabled";
    this.hasFound = false;
    // A call has moved a place meanwhile.
    if (readers.some((reader) => !ledger.readers.includes(reader))) return undefined;
    if (rows[0]?.[0]?.place !== asked[0]?.place) return this.#reset();
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
    const { progress, queue, readers } = this.#ledger;
    const { url, types } = configuration;
    const enabled = configuration.enabled === 1;
    if (url !== progress.url || enabled !== progress.enabled || progress.goneSince !== null) {
      const health = enabled && progress.url !== "" ? renewed(progress.health, Date.now()) : progress.health;
      this.#ledger.set({ url, enabled, goneSince: null, health });
      this.era++;
      this.#ledger.paused.clear();
    }
    if (types !== this.configuration?.types) {
      const wanted = new Set<unknown>(JSON.parse(types));
      for (const row of queue.rows) if (row.type !== RESET && !wanted.has(row.type)) this.#ledger.drop(row);
      for (const reader of readers) reader.keep(wanted);
    }
    this.configuration = configuration;
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
    for (const before of ledger.queue.rows) ledger.drop(before);
    ledger.jump(place);
    const row = newRow({ place: id, type: RESET, resource: id }, false, now);
    ledger.put(row, messageBody(id, RESET, { cursor: encodeEventCursor(place), bookmark }));
    ledger.set({ resets: ledger.progress.resets + 1, resetAt: now });
    ledger.record(now);
  }

  /** Disables the webhook, whose receiver is gone. Returns whether its address is still the one that is gone. */
  async disable(url: string): Promise<boolean> {
    if (!(await this.#database.disable(this.#ledger.progress.name, url))) return false;
    this.#ledger.set({ enabled: false });
    return true;
  }
}
