import type { AddressSettings } from "../url.ts";
import { originOf, Pace } from "./budget.ts";
import { deliver, type Outcome } from "./delivery.ts";
import { counts, isSuccess, settle } from "./due.ts";
import { type Ledger, MAX_PENDING } from "./ledger.ts";
import { Parallel, type Running } from "./parallel.ts";
import { type Attempt, plan, situationOf, weakest } from "./plan.ts";
import type { Waiting } from "./queue.ts";
import { secretsAt } from "./signing.ts";
import { isLimit, modeAt } from "./state.ts";
import { eventId } from "./store.ts";

const GONE = 410;
/** Milliseconds of an attempt of an earlier era, at most: nobody waits for what another receiver, or one that is back, still holds. */
const OUTDATED_LASTS = 2_000;

/** Starts attempts, and takes over how they end. */
export class Attempts {
  readonly #ledger: Ledger;
  readonly #settings: AddressSettings;
  readonly parallel = new Parallel();
  readonly #pace = new Pace();
  #turn = 0;
  /** The attempt whose receiver said that it is gone. */
  #gone: Running | undefined;
  /** The last delivery that did not succeed, for the log of this run of the alarm. */
  #failure: Waiting | undefined;

  constructor(ledger: Ledger, settings: AddressSettings) {
    [this.#ledger, this.#settings] = [ledger, settings];
  }

  /** Ends a run of the alarm. The attempts go on. */
  end(): void {
    if (this.#failure !== undefined) this.#log("a delivery did not succeed", this.#failure);
    this.#failure = undefined;
  }

  /** The address whose receiver is gone, once, if it is still the present one. */
  takeGone(): string | undefined {
    const gone = this.#gone;
    this.#gone = undefined;
    return gone?.era === this.#ledger.era ? gone.url : undefined;
  }

  situation = (now: number) => situationOf(this.#ledger, this.parallel, this.#turn, now);

  /** Starts one, if one may start. Otherwise returns when one may, as far as time decides it. */
  startOne(now: number): number | undefined {
    this.parallel.abandon(this.#ledger.era, now - OUTDATED_LASTS);
    const situation = this.situation(now);
    const { share } = situation;
    const { known } = this.#ledger;
    const { size, first, lastStart } = this.parallel;
    const paceAt = Math.max(
      this.#pace.next(share.aMinute, now),
      size > 0 ? Math.min(lastStart, now) + share.between : 0,
    );
    if (paceAt > now || known === undefined) return paceAt;
    const givesWayAt = size < share.atOnce ? Infinity : (first?.givesWayAt ?? Infinity);
    if (givesWayAt <= now) share.atOnce++;
    const attempt = plan(situation);
    this.#makeRoom(now);
    if (typeof attempt === "number") return givesWayAt > now ? Math.min(attempt, givesWayAt) : attempt;
    if (givesWayAt <= now) first?.controller.abort();
    this.#start(attempt, known.url, now, now + share.givesWayAfter);
    return undefined;
  }

  #start(attempt: Attempt, url: string, now: number, givesWayAt: number): void {
    const { row, body, reader } = attempt;
    const { era, progress } = this.#ledger;
    const isProbe = modeAt(progress.health, now) === "failing" && row.lastAttemptAt !== null;
    const isCounted = counts(row, progress.health, now);
    const controller = new AbortController();
    this.#turn++;
    this.#pace.spend();
    reader?.set(row.key, "running");
    const start = { ...attempt, url, era, startedAt: now, givesWayAt, isProbe, isCounted, controller };
    this.parallel.start(start, async (running) => {
      const secrets = secretsAt(this.#ledger.secrets, Date.now());
      const outcome = await deliver(url, { id: eventId(row.key), body }, secrets, this.#settings, controller);
      this.#settle(running, outcome);
    });
  }

  /** Takes over what an attempt means. One that a jump of the place has overtaken is only recorded if it was delivered. */
  #settle(running: Running, outcome: Outcome): void {
    const ledger = this.#ledger;
    const { queue, progress } = ledger;
    const { row: before, body, reader, url, isProbe, isCounted } = running;
    const { response, retryAfter } = outcome;
    const { key, resource } = before;
    const now = Date.now();
    const isTaken = isSuccess(outcome);
    const isOutdated = ledger.era !== running.era;
    // What an earlier era says no longer holds. Its event is due, unless it is delivered.
    if (!isTaken && !this.parallel.awaits(running)) return;
    if (!isTaken && isOutdated) return reader?.back(key);
    const waiting = queue.get(key);
    const isHere =
      waiting !== undefined || (reader !== undefined && ledger.readers.includes(reader) && reader.runs(key));
    const { row, status } = settle(waiting ?? before, outcome, progress.health, now, isCounted);
    if (status !== "delivered") this.#failure = row;
    if (status === "delivered" || (status === "failed" && isHere)) ledger.finish(row, status);
    else if (isHere) ledger.put(row, waiting === undefined ? body : undefined);
    reader?.set(key, "done");
    if (!isOutdated) {
      const until = retryAfter > 0 ? now + retryAfter : 0;
      const isPause = response === 429 || until > 0;
      const pause = until > 0 && isLimit(progress.health, resource, now) ? "limited" : "paused";
      const kind = isTaken ? "taken" : isPause ? pause : "refused";
      queue.pause(resource, until);
      const refusedAt = (waiting ?? before).lastAttemptAt;
      const isKnown = (row.refusedSince ?? now) < (progress.health.lastSuccessAt ?? 0);
      ledger.happen({ kind, at: now, refusedAt, resource, until, isProbe, isKnown });
      if (isTaken) ledger.set({ proven: originOf(url) });
      if (response === GONE && isHere) this.#gone = running;
    }
    if (status === "failed" && isHere) this.#log("a delivery failed", row);
    this.#makeRoom(now);
  }

  /** Gives up deliveries that failed, when too many wait: they must not stop all others. */
  #makeRoom(now: number): void {
    while (this.#ledger.queue.size > MAX_PENDING) {
      const row = weakest(this.#ledger, this.parallel, now);
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
