import type { AddressSettings } from "../url.ts";
import { deliver } from "./delivery.ts";
import { isFailing, newEventAt, originOf, Pace, shareOf } from "./health.ts";
import { type Ledger, MAX_PENDING } from "./ledger.ts";
import type { Look, Stop } from "./look.ts";
import { type Kind, settle } from "./outcome.ts";
import { Parallel } from "./parallel.ts";
import { type Attempt, pick, type Situation, startTimes } from "./pick.ts";
import type { Waiting } from "./queue.ts";
import { limitsOf } from "./room.ts";
import type { Outcome } from "./schedule.ts";
import { eventId } from "./store.ts";

const SECOND = 1_000;

/** Milliseconds until the next run, at most. It repairs a lost call. */
export const LONGEST_PAUSE = 60 * SECOND;
/** Milliseconds from a read that found the end of the feed to the next one, at least. */
export const SHORTEST_PAUSE = SECOND;
/** Milliseconds of a run, and attempts that it starts, at most. The next run follows at once, beside the attempts that still run. */
const LONGEST_RUN = 60 * SECOND;
const MOST_STARTED = 1_000;
/** Milliseconds after which something that has finished is recorded, at most, while the run goes on. */
const RECORDED_AFTER = SECOND;
/** Milliseconds after a change of the configuration, for which isolates may not know it, and nudge nobody. */
const UNKNOWN_FOR = 12 * SECOND;
/** The part of a minute's attempts that may start at once. */
const BURST = 1 / 6;
const GONE = 410;

/** The part of an object that delivers, as long as the object is in memory. */
export class Run {
  readonly #ledger: Ledger;
  readonly #look: Look;
  readonly #settings: AddressSettings;
  readonly #signing: () => string[];
  readonly #parallel = new Parallel();
  readonly #pace = new Pace(BURST);
  #isRunning = false;
  #mustLook = true;
  #isNudged = false;
  /** Whether the last look was for a nudge. An isolate nudges once a second: one that finds nothing may have swallowed the next one. */
  #wasNudged = false;
  #recordedAt = 0;
  #started = 0;
  /** Counts the attempts. */
  #turn = 0;
  #changedAt = 0;
  /** The address of a receiver that said it is gone. */
  #goneUrl: string | undefined;
  /** The last delivery of this run that did not succeed, for the log. */
  #failure: Waiting | undefined;
  #wakeUp = () => {};

  constructor(ledger: Ledger, look: Look, settings: AddressSettings, signing: () => string[]) {
    [this.#ledger, this.#look, this.#settings, this.#signing] = [ledger, look, settings, signing];
  }

  /** Notes that the feed has more. Returns when the next run has to begin. Undefined while one runs. */
  nudge(): number | undefined {
    this.#isNudged = true;
    return this.#wake(this.#nextAt(-1));
  }

  /** Notes that something has changed: the configuration, the place, the health. */
  change(): number | undefined {
    this.#mustLook = true;
    this.#changedAt = Date.now();
    return this.#wake(0);
  }

  #wake(at: number): number | undefined {
    this.#wakeUp();
    return this.#isRunning ? undefined : at;
  }

  /**
   * Delivers what is due, and reads on in the feed, until there is nothing to do for now.
   *
   * @returns when the next run has to begin, or why there is nothing to deliver.
   */
  async run(): Promise<number | Stop> {
    const begin = Date.now();
    [this.#isRunning, this.#mustLook, this.#started, this.#failure] = [true, true, 0, undefined];
    this.#recordedAt = begin;
    try {
      for (;;) {
        if (this.#mustLook) {
          const stop = await this.#see();
          // A call has changed something meanwhile.
          if (this.#mustLook) continue;
          if (stop !== undefined) {
            this.#goneUrl = undefined;
            return stop;
          }
        }
        const goneUrl = this.#goneUrl;
        this.#goneUrl = undefined;
        if (goneUrl !== undefined && (await this.#look.disable(goneUrl))) this.#mustLook = true;
        if (this.#mustLook) continue;
        const now = Date.now();
        const isOver = now >= begin + LONGEST_RUN || now < begin || this.#started >= MOST_STARTED;
        if (isOver) return now;
        if (this.#ledger.isFull || now >= this.#recordedAt + RECORDED_AFTER) this.#record(now);
        this.#endOrders(now);
        if (this.#startOne(now)) continue;
        this.#mustLook ||= this.#readsAt(now) <= now;
        if (this.#mustLook) continue;
        const next = this.#nextAt(now);
        if (this.#parallel.size === 0) return Math.max(next, Math.min(this.#look.at, now) + SHORTEST_PAUSE);
        await this.#pause(Math.min(next, begin + LONGEST_RUN, this.#recordedAt + RECORDED_AFTER) - now);
      }
    } finally {
      this.#isRunning = false;
      this.#record(Date.now());
      if (this.#failure !== undefined) this.#log("a delivery did not succeed", this.#failure);
    }
  }

  /** Waits until an attempt ends, something changes, or the time is over. */
  async #pause(milliseconds: number): Promise<void> {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    this.#wakeUp = resolve;
    const timer = setTimeout(resolve, Math.max(milliseconds, 0));
    await Promise.race([this.#parallel.next(), woken]);
    clearTimeout(timer);
  }

  #record(now: number): void {
    this.#ledger.record(now);
    this.#recordedAt = now;
  }

  get #situation(): Situation {
    const { concurrency = 1, peers = 1 } = this.#look.configuration ?? {};
    const { progress } = this.#ledger;
    const isProven = progress.proven === originOf(progress.url);
    return {
      ledger: this.#ledger,
      parallel: this.#parallel,
      share: shareOf(concurrency, peers, isProven, progress.health),
      now: Date.now(),
    };
  }

  /** Whether the feed may have more than the last look has shown. */
  #isAwaited = (now: number): boolean =>
    this.#isNudged || this.#wasNudged || this.#look.hasFound || Math.abs(now - this.#changedAt) < UNKNOWN_FOR;

  /** When the feed is read again, if nothing else happens. */
  #readsAt(now: number): number {
    const limits = limitsOf(this.#situation);
    const hasMore = this.#ledger.readers.some((reader, index) => reader.hasMore && limits[index] !== 0);
    if (!hasMore && (limits[0] === 0 || !this.#isAwaited(now))) return Infinity;
    const at = hasMore ? 0 : Math.min(this.#look.at, now) + SHORTEST_PAUSE;
    return Math.max(at, newEventAt(this.#ledger.progress.health, now));
  }

  /** When there is something to do after a time, if nothing else happens. */
  #nextAt(after: number): number {
    const situation = this.#situation;
    const { share, now } = situation;
    const looksAt = Math.min(this.#look.at, now) + LONGEST_PAUSE;
    const paceAt = this.#pace.next(share.aMinute, now);
    const isPaced = paceAt > now;
    const times = startTimes(situation).map((time) => (isPaced ? Math.max(time, paceAt) : time));
    return Math.min(looksAt, ...[this.#readsAt(now), ...times].filter((time) => time > after));
  }

  async #see(): Promise<Stop | undefined> {
    [this.#mustLook, this.#wasNudged, this.#isNudged] = [false, this.#isNudged, false];
    return this.#look.again(limitsOf(this.#situation));
  }

  /** Ends the order of resources that were refused for too long. */
  #endOrders(now: number): void {
    for (const [lane, end] of this.#ledger.queue.orderEnds) if (end <= now) this.#ledger.setUnordered(lane, true);
  }

  /** Starts an attempt, if one may start. */
  #startOne(now: number): boolean {
    const situation = this.#situation;
    if (this.#pace.next(situation.share.aMinute, now) > now) return false;
    const attempt = pick(situation, this.#turn);
    this.#makeRoom(now);
    if (attempt === undefined) return false;
    this.#started++;
    this.#turn++;
    this.#pace.spend();
    const { row, body, isRefused, reader } = attempt;
    const { health, url } = this.#ledger.progress;
    const { era } = this.#look;
    const isProbe = isFailing(health) && row.lastAttemptAt !== null;
    // The clock may have been set back.
    const counts = row.lastAttemptAt === null || row.lastAttemptAt > now || row.nextAttemptAt <= now;
    reader?.set({ place: row.key }, "running");
    this.#parallel.start({ key: row.key, resource: row.resource, isRefused, isReplay: row.isReplay }, async () => {
      const outcome = await deliver(url, { id: eventId(row.key), body }, this.#signing(), this.#settings);
      this.#settle(attempt, outcome, era, { isProbe, counts });
    });
    return true;
  }

  /** Takes over what an attempt means. One that a jump of the place has overtaken is only recorded if it was delivered. */
  #settle({ row: before, body, reader }: Attempt, outcome: Outcome, era: number, kind: Kind): void {
    const ledger = this.#ledger;
    const now = Date.now();
    const waiting = ledger.queue.get(before.key);
    const isCurrent =
      waiting !== undefined || (reader !== undefined && ledger.readers.includes(reader) && reader.runs(before.key));
    const { row, status, health, pausedUntil } = settle(waiting ?? before, outcome, ledger.progress.health, now, kind);
    // What an attempt of an earlier address, or from before the webhook was enabled, says no longer holds.
    if (era === this.#look.era) {
      ledger.set({ health, ...(status === "delivered" && { proven: originOf(ledger.progress.url) }) });
      if (pausedUntil > 0) ledger.paused.set(row.resource, pausedUntil);
      else ledger.paused.delete(row.resource);
      if (outcome.response === GONE && isCurrent) this.#goneUrl = ledger.progress.url;
    }
    if (status !== "delivered") this.#failure = row;
    if (status === "delivered" || (status === "failed" && isCurrent)) ledger.finish(row, status);
    else if (isCurrent) ledger.put(row, waiting === undefined ? body : undefined);
    reader?.set({ place: row.key }, "done");
    if (status === "failed" && isCurrent) this.#log("a delivery failed", row);
    this.#makeRoom(now);
  }

  /** Gives up deliveries that failed, when too many wait: they must not stop all others. */
  #makeRoom(now: number): void {
    while (this.#ledger.queue.size > MAX_PENDING) {
      const row = this.#ledger.weakest(now, this.#parallel.runs);
      if (row === undefined) return;
      this.#ledger.finish(row, "failed", "no_room");
      this.#log("a delivery failed", row, "no_room");
    }
  }

  /** Neither the address nor a body: both may hold secrets of the receiver. */
  #log(message: string, { key, response, attempts, error }: Waiting, reason?: string): void {
    const { name: webhook } = this.#ledger.progress;
    const line = { level: "warn", message, webhook, event: eventId(key), response, error: reason ?? error, attempts };
    console.warn(JSON.stringify(line));
  }
}
