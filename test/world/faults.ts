import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import type { History } from "./history.ts";
import type { Random } from "./random.ts";

/** The kinds of faults that meet a request, each with its share of the chances in a bad world. */
const WORST = {
  "request lost": 0.06,
  "response lost": 0.08,
  "isolate killed": 0.003,
  "transient error before a transaction": 0.06,
  "transient error after a transaction": 0.08,
  "lasting error before a transaction": 0.03,
  "lasting error after a transaction": 0.03,
  "key store fails": 0.02,
  "rate limiter fails": 0.01,
  "rate limit reached": 0.01,
  "slow network": 0.03,
  "slow database": 0.03,
};
/** The same for Durable Objects. A crash comes between two steps of an object. */
export const WORST_OF_OBJECTS = {
  "object crashes": 0.01,
  "object evicted": 0.2,
  "alarm lost": 0.002,
  "call to an object lost": 0.1,
  "answer of an object lost": 0.1,
  "response to a delivery lost": 0.05,
};
export type Fault = keyof typeof WORST | keyof typeof WORST_OF_OBJECTS;
export const FAULTS = Object.keys({ ...WORST, ...WORST_OF_OBJECTS }) as Fault[];
/** What meets the whole world, and a shorter history may leave out. */
export const TROUBLES = [
  "overload",
  "slow for a while",
  "replica falls behind",
  "clock jumps",
  "restore",
  "a backup",
  "a restore of a backup",
  "backup killed",
  "backup failed",
  "hourly job",
  "a webhook is managed",
  "a receiver changes",
  "a release",
] as const;

/** The faults of one world: some worlds have none, and some of them many. */
export class Faults {
  readonly #shares: { [fault in Fault]: number };
  readonly #history: History;
  readonly #calm: ReadonlySet<string>;

  /** @param calm kinds of faults that this world does not have. */
  constructor(
    random: Random,
    history: History,
    calm: ReadonlySet<string>,
    worst: { readonly [fault in Fault]?: number } = WORST,
  ) {
    const all = random.pick([0, 0.2, 0.5, 1]);
    const shares = Object.entries(worst).map(([fault, share]) => [fault, all * random.pick([0, 1, 1]) * share]);
    this.#shares = Object.fromEntries(shares) as { [fault in Fault]: number };
    this.#history = history;
    this.#calm = calm;
  }

  /** Whether this fault happens. */
  meets(random: Random, fault: Fault): boolean {
    // The generator advances also without the fault, so that the rest of the world stays the same.
    const happens = random.chance(this.#shares[fault]) && !this.#calm.has(fault);
    if (happens) this.#history.fault(fault);
    return happens;
  }

  /** What happens to a transaction on its way. D1 repeats reads itself, so that those fail less. */
  ofTransaction(random: Random, writes: boolean): { when: "before" | "after"; message: string } | undefined {
    const [transient, lasting] = [random.pick(TRANSIENT_ERRORS), random.pick(LASTING_ERRORS)];
    const isSpared = !writes && random.chance(0.9);
    for (const when of ["before", "after"] as const) {
      if (isSpared) return undefined;
      if (this.meets(random, `transient error ${when} a transaction`)) return { when, message: transient };
      if (this.meets(random, `lasting error ${when} a transaction`)) return { when, message: lasting };
    }
    return undefined;
  }
}
