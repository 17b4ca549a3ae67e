import type { Clock } from "../clock.ts";

// When a request may go to Cloudflare's API. Source: https://developers.cloudflare.com/fundamentals/api/reference/limits/

/** Requests that a user or a token may send in `WINDOW`, with all programs together. A further one blocks all for up to as long. */
export const LIMIT = 1_200;
/** Milliseconds. */
export const WINDOW = 300_000;
/** Requests that need not wait: most commands send fewer. */
export const BURST = 100;
/** The share of the limit that a command may use, unless it says another one. */
export const WHOLE = 1;
/** The share for a command that sends requests for minutes or hours. The rest is for other commands of the same user or token. */
export const SUSTAINED = 5 / 6;
/** Milliseconds of a wait that a person is told of. */
const TOLD = 5_000;

/** Requests a minute that a command with a share of the limit sends for hours. No window has more than that share, with the burst. */
export const requestsAMinute = (share: number) => (LIMIT * share - BURST) / (WINDOW / 60_000);

export class Pace {
  readonly #clock: Clock;
  readonly #say: (text: string) => void;
  readonly #share: number;
  /** The time of the last request, or earlier, if requests may follow without a wait. */
  #last = 0;
  /** Before that time, the API takes no request. */
  #opens = 0;

  /** @param say tells of a long wait. */
  constructor(clock: Clock, say: (text: string) => void, share: number) {
    this.#clock = clock;
    this.#say = say;
    this.#share = share;
  }

  /** Waits until the next request may go. */
  async turn(): Promise<void> {
    const interval = 60_000 / requestsAMinute(this.#share);
    this.#last = Math.max(this.#last, this.#clock.now() - BURST * interval) + interval;
    const turn = this.#last;
    for (;;) {
      const wait = Math.max(turn, this.#opens) - this.#clock.now();
      if (wait <= 0) return;
      await this.#clock.sleep(wait);
    }
  }

  /** Lets no request go for some milliseconds. */
  close(milliseconds: number): void {
    const opens = this.#clock.now() + milliseconds;
    if (opens <= this.#opens) return;
    this.#opens = opens;
    if (milliseconds < TOLD) return;
    const time = new Date(Math.ceil(opens / 1_000) * 1_000).toISOString().replace(".000", "");
    this.#say(`Cloudflare's API asks for a wait. This goes on by itself at ${time}.`);
  }

  /**
   * Waits for the next window when the share of a quota is used up, and not for that of a longer limit. The headers are those of RateLimit header fields for HTTP, a draft of
   * the IETF: `Ratelimit: "default";r=50;t=30` and `Ratelimit-Policy: "default";q=1200;w=300`.
   */
  note(headers: Headers): void {
    const policies = itemsOf(headers.get("Ratelimit-Policy"));
    for (const [name, { r, t }] of itemsOf(headers.get("Ratelimit"))) {
      const { q = 0 } = policies.get(name) ?? {};
      if (r !== undefined && t !== undefined && r <= q * (1 - this.#share)) this.close(Math.min(t * 1_000, WINDOW));
    }
  }
}

/** The numbers of each item of a list, by its name. */
function itemsOf(list: string | null): Map<string, { [parameter: string]: number }> {
  const items = (list ?? "").matchAll(/"([^"]*)"([^",]*)/g);
  return new Map(
    [...items].map(([, name = "", parameters = ""]) => [
      name,
      Object.fromEntries([...parameters.matchAll(/;\s*(\w+)=(\d+)/g)].map(([, key, value]) => [key, Number(value)])),
    ]),
  );
}
