import type { AddressSettings } from "../url.ts";
import { Attempts } from "./attempts.ts";
import { disable } from "./database.ts";
import type { Ledger } from "./ledger.ts";
import { LONGEST_WAIT, Look, type Stop } from "./look.ts";
import { limitsOf } from "./plan.ts";

const SECOND = 1_000;

/** Milliseconds until the next run, at most. It repairs a lost call. */
export const LONGEST_PAUSE = 60 * SECOND;
/** Milliseconds from a read that found the end of the feed to the next one, at least. */
const SHORTEST_PAUSE = SECOND;
/** Milliseconds of a run, and attempts that it starts, at most. The next run follows at once, beside the attempts that still run. */
const LONGEST_RUN = 60 * SECOND;
const MOST_STARTED = 1_000;
/** Milliseconds after which something that has finished is recorded, at most, while the run goes on. */
const RECORDED_AFTER = SECOND;
/** Milliseconds between two nudges of an isolate, at least: one that finds nothing may have swallowed the next one. */
const BETWEEN_NUDGES = SECOND;
/** Milliseconds after which a run looks again: nobody may have told that the webhook is disabled or deleted, after a lost answer of D1. */
const LONGEST_UNSEEN = 10 * SECOND;

/** The part of an object that delivers, as long as the object is in memory. */
export class Run {
  readonly ledger: Ledger;
  readonly look: Look;
  readonly #attempts: Attempts;
  readonly #d1: D1Database;
  #isRunning = false;
  #mustLook = true;
  #recordedAt = 0;
  #wakeUp = () => {};

  constructor(ledger: Ledger, env: AddressSettings & Pick<Env, "DB">) {
    [this.ledger, this.#d1] = [ledger, env.DB];
    [this.look, this.#attempts] = [new Look(ledger, env.DB), new Attempts(ledger, env)];
  }

  /** Notes that the feed has more. Returns when the next run has to begin. Undefined while one runs. */
  nudge(): number | undefined {
    this.look.expect(BETWEEN_NUDGES);
    const now = Date.now();
    // Whatever waits: a restore may have brought the webhook back, and an alarm may be lost.
    return this.#wake(Math.min(this.#readsAt(now), now + LONGEST_PAUSE));
  }

  /** Notes that something has changed: the configuration, the place, the state. */
  change(): number | undefined {
    this.#mustLook = true;
    this.look.expect(LONGEST_WAIT);
    return this.#wake(0);
  }

  #wake(at: number): number | undefined {
    this.#wakeUp();
    return this.#isRunning ? undefined : at;
  }

  /**
   * Delivers what is due, and reads on in the feed, until there is nothing to do for now.
   *
   * @returns when the next run has to begin, unless the webhook is deleted.
   */
  async run(): Promise<number | "deleted"> {
    const begin = Date.now();
    const attempts = this.#attempts;
    [this.#isRunning, this.#mustLook, this.#recordedAt] = [true, true, begin];
    let [stop, started]: [Stop | undefined, number] = [undefined, 0];
    try {
      for (;;) {
        // A call may change something meanwhile.
        while (this.#mustLook) {
          this.#mustLook = false;
          stop = await this.look.again(limitsOf(attempts.situation(Date.now())));
        }
        if (stop !== undefined) return stop === "disabled" ? Date.now() + LONGEST_PAUSE : stop;
        const gone = attempts.takeGone();
        if (gone !== undefined) {
          // The next look learns it.
          await disable(this.#d1, this.ledger.progress.name, gone);
          this.#mustLook = true;
          continue;
        }
        const now = Date.now();
        if (now >= begin + LONGEST_RUN || now < begin || started >= MOST_STARTED) return now;
        if (this.ledger.isFull || now >= this.#recordedAt + RECORDED_AFTER) this.#record(now);
        this.#mustLook ||= Math.abs(now - this.look.at) >= LONGEST_UNSEEN;
        if (this.#mustLook) continue;
        const startsAt = attempts.startOne(now);
        if (startsAt === undefined) {
          started++;
          continue;
        }
        const readsAt = this.#readsAt(now);
        this.#mustLook ||= readsAt <= now;
        if (this.#mustLook) continue;
        const next = Math.min(startsAt, readsAt, Math.min(this.look.at, now) + LONGEST_PAUSE);
        if (attempts.parallel.size === 0) return Math.max(next, Math.min(this.look.at, now) + SHORTEST_PAUSE);
        await this.#pause(Math.min(next, begin + LONGEST_RUN, this.#recordedAt + RECORDED_AFTER) - now);
      }
    } finally {
      this.#isRunning = false;
      this.#record(Date.now());
      attempts.end();
    }
  }

  /** Waits until an attempt ends, something changes, or the time is over. */
  async #pause(milliseconds: number): Promise<void> {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    this.#wakeUp = resolve;
    const timer = setTimeout(resolve, Math.max(milliseconds, 0));
    await Promise.race([this.#attempts.parallel.next(), woken]);
    clearTimeout(timer);
  }

  #record(now: number): void {
    this.ledger.record(now);
    this.#recordedAt = now;
  }

  /** When the feed is read again, if nothing else happens. */
  #readsAt(now: number): number {
    const situation = this.#attempts.situation(now);
    const limits = limitsOf(situation);
    const hasMore = this.ledger.readers.some((reader, index) => reader.hasMore && limits[index] !== 0);
    if (!hasMore && (limits[0] === 0 || !this.look.isExpected(now))) return Infinity;
    const readsAt = hasMore ? 0 : Math.min(this.look.at, now) + SHORTEST_PAUSE;
    return Math.max(readsAt, situation.opening.anew);
  }
}
