import type { AddressSettings } from "../url.ts";
import { originOf } from "./budget.ts";
import { look } from "./database.ts";
import { deliver, messageBody, messageId, TIMEOUT } from "./delivery.ts";
import { isSuccess } from "./due.ts";
import type { Ledger } from "./ledger.ts";
import { secretsAt } from "./signing.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const TESTS_A_MINUTE = 10;

/** The tests of a webhook: one at a time, and a few in a minute. */
export class Tests {
  /** When those of the last minute began, in milliseconds since the epoch. */
  #begun: number[] = [];
  #isRunning = false;

  /** Seconds until another one may begin, at most: one that runs may end earlier. */
  #wait(now: number): number {
    // A time in the future is from before the clock was set back.
    this.#begun = this.#begun.filter((at) => at > now - MINUTE && at <= now);
    const [oldest = now] = this.#begun;
    const mayBegin = this.#begun.length < TESTS_A_MINUTE ? now : oldest + MINUTE;
    const runsUntil = this.#isRunning ? Math.max((this.#begun.at(-1) ?? now) + TIMEOUT, now + SECOND) : now;
    return Math.ceil((Math.max(mayBegin, runsUntil) - now) / SECOND);
  }

  /**
   * Sends a `webhook.test`. One that succeeds makes everything due, also what a receiver still holds. It says nothing of a later address.
   *
   * @returns the outcome as clients see it, or the seconds to wait.
   */
  async send(ledger: Ledger, env: AddressSettings & Pick<Env, "DB">) {
    const [era, begin] = [ledger.era, Date.now()];
    const wait = this.#wait(begin);
    if (wait > 0) return wait;
    this.#begun.push(begin);
    this.#isRunning = true;
    try {
      const { configuration } = await look(env.DB, ledger.progress.name);
      if (configuration === undefined) throw new Error("There is no such webhook");
      const id = messageId();
      const message = { id, body: messageBody(id, "webhook.test", {}) };
      const sentAt = Date.now();
      const outcome = await deliver(configuration.url, message, secretsAt(ledger.secrets, sentAt), env);
      const now = Date.now();
      if (isSuccess(outcome) && era === ledger.era) {
        ledger.happen({ kind: "tested", at: now });
        ledger.set({ proven: originOf(configuration.url) });
        ledger.queue.endPauses(Infinity);
        ledger.era++;
        ledger.record(now);
      }
      const { response, error } = outcome;
      const milliseconds = now - sentAt;
      return { ...(response !== undefined && { response }), ...(error !== undefined && { error }), milliseconds };
    } finally {
      this.#isRunning = false;
    }
  }
}
