import type { Clock } from "../../../ops/clock.ts";
import { Refusal } from "./route.ts";

// https://developers.cloudflare.com/fundamentals/api/reference/limits/

const REQUESTS = 1_200;
/** Milliseconds, of the window and of a block. */
const WINDOW = 300_000;

/** A clock that goes on only when somebody waits, and then at once. */
export class FastClock implements Clock {
  #time = Date.parse("2026-01-01T00:00:00Z");

  now(): number {
    return this.#time;
  }

  async sleep(milliseconds: number): Promise<void> {
    this.#time += milliseconds;
  }
}

/** Cloudflare's limit: 1,200 requests in five minutes. One more, and all requests of the next five minutes are refused. */
export class Limit {
  refused = 0;
  readonly #clock: Clock;
  readonly #hasHeaders: boolean;
  #times: number[] = [];
  #blockedUntil = 0;

  /** @param hasHeaders whether responses tell of the limit. */
  constructor(clock: Clock, hasHeaders: boolean) {
    this.#clock = clock;
    this.#hasHeaders = hasHeaders;
  }

  /** Requests of other programs with the same token. */
  use(requests: number): void {
    for (; requests > 0; requests--) this.admit();
  }

  /** How many of the window are left. */
  get remaining(): number {
    const begin = this.#clock.now() - WINDOW;
    this.#times = this.#times.filter((time) => time > begin);
    return REQUESTS - this.#times.length;
  }

  /** Counts a request. Returns the headers of its response. @throws Refusal */
  admit(): Record<string, string> {
    const now = this.#clock.now();
    if (now >= this.#blockedUntil && this.remaining === 0) {
      this.#blockedUntil = now + WINDOW;
      this.#times = [];
    }
    if (now < this.#blockedUntil) {
      this.refused++;
      const wait = Math.ceil((this.#blockedUntil - now) / 1_000);
      const message =
        "More than 1200 requests per 300 seconds reached. Please wait and consider throttling your request speed";
      throw new Refusal(429, 971, message, this.#hasHeaders ? { "Retry-After": String(wait) } : {});
    }
    this.#times.push(now);
    if (!this.#hasHeaders) return {};
    const reset = Math.ceil(((this.#times[0] ?? now) + WINDOW - now) / 1_000);
    return { Ratelimit: `"default";r=${this.remaining};t=${reset}`, "Ratelimit-Policy": '"default";q=1200;w=300' };
  }
}
