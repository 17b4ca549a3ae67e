const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Milliseconds before each attempt of an event. */
const DELAYS = [0, 5 * SECOND, 5 * MINUTE, 30 * MINUTE].concat([2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR));
export const MAX_ATTEMPTS = DELAYS.length;
/** Each delay is longer or shorter by up to this share, so that attempts spread out. */
const JITTER = 0.1;
/** Milliseconds before each probe of an endpoint that fails. The last one repeats. */
const PROBE_DELAYS = [5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE];
const LONGEST_RETRY_AFTER = 24 * HOUR;
/** Milliseconds for which a resource keeps its order after the first failure of its oldest pending event. */
const ORDER_LASTS = HOUR;
/** Failures in a row after which an endpoint fails. */
const FAILURES_OF_A_HOLD = 3;

/** How an attempt ended. */
export interface Outcome {
  /** The status, if there was a response. */
  response: number | undefined;
  error: "timeout" | "connection" | undefined;
  /** Milliseconds for which the receiver asked not to be called again. */
  retryAfter: number;
}

export const isSuccess = ({ response = 0 }: Pick<Outcome, "response">): boolean => response >= 200 && response <= 299;

/**
 * When an event is attempted again, in milliseconds since the epoch.
 *
 * @param attempts that failed, from 1 to one less than `MAX_ATTEMPTS`.
 */
export function nextAttempt(attempts: number, now: number, retryAfter: number): number {
  const delay = (DELAYS[attempts] as number) * (1 + JITTER * (2 * Math.random() - 1));
  return now + Math.max(Math.round(delay), retryAfter);
}

/**
 * When an endpoint that fails is probed.
 *
 * @param probes that failed since it fails.
 */
export function nextProbe(probes: number, now: number, retryAfter: number): number {
  return now + Math.max(PROBE_DELAYS[Math.min(probes, PROBE_DELAYS.length - 1)] as number, retryAfter);
}

/** Milliseconds that a `Retry-After` asks for, as seconds or as a date (RFC 9110, section 10.2.3). 0 for any other text. */
export function retryAfterOf(header: string | null, now: number): number {
  if (header === null) return 0;
  const milliseconds = /^\d+$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now;
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(milliseconds, 0), LONGEST_RETRY_AFTER);
}

/** A delivery that waits, without its body. Times are in milliseconds since the epoch. */
export interface Waiting {
  /** The place of the event, or the id of a message of the service. Ascends with the feed. */
  key: string;
  type: string;
  /** What the event is about. Its events have an order. */
  resource: string;
  /** Attempts that count. */
  attempts: number;
  firstFailureAt: number | null;
  lastAttemptAt: number | null;
  nextAttemptAt: number;
  response: number | null;
  error: NonNullable<Outcome["error"]> | null;
}

/** What decides about the deliveries of an endpoint. */
export interface Endpoint {
  /** Failures in a row. */
  failures: number;
  /** When the last hold ended. Deliveries whose last attempt was not later are brought forward. */
  heldUntil: number;
}

export const isFailing = ({ failures }: Pick<Endpoint, "failures">): boolean => failures >= FAILURES_OF_A_HOLD;

const isBroughtForward = ({ lastAttemptAt }: Waiting, { heldUntil }: Endpoint): boolean =>
  lastAttemptAt !== null && lastAttemptAt <= heldUntil;

/** When a delivery may be attempted, as far as its own schedule goes. */
export const dueAt = (row: Waiting, endpoint: Endpoint): number =>
  isBroughtForward(row, endpoint) ? Math.min(row.nextAttemptAt, endpoint.heldUntil) : row.nextAttemptAt;

/** Never attempted ones first, in the order of the feed. Then those whose last attempt is longest ago. */
const byLastAttempt = (a: Waiting, b: Waiting): number =>
  (a.lastAttemptAt ?? -1) - (b.lastAttemptAt ?? -1) || (a.key < b.key ? -1 : 1);

/** The deliveries that wait, in the order of the feed, and the resources without an order. */
export class Queue {
  readonly rows: Map<string, Waiting>;
  /** Resources whose events no longer wait for each other. */
  readonly unordered: Set<string>;

  constructor(rows: readonly Waiting[], unordered: readonly string[]) {
    this.rows = new Map(rows.map((row) => [row.key, row]));
    this.unordered = new Set(unordered);
  }

  /** The oldest delivery of each resource. Its keys are the resources with something that waits. */
  #oldest(): Map<string, Waiting> {
    const oldest = new Map<string, Waiting>();
    for (const row of this.rows.values()) {
      const known = oldest.get(row.resource);
      if (known === undefined || row.key < known.key) oldest.set(row.resource, row);
    }
    return oldest;
  }

  /** Whether a new event of a resource has to wait for an earlier one. */
  blocks(resource: string): boolean {
    return !this.unordered.has(resource) && [...this.rows.values()].some((row) => row.resource === resource);
  }

  /** The deliveries that wait for no earlier one, in the order in which they are attempted. */
  free(): Waiting[] {
    const oldest = this.#oldest();
    return [...this.rows.values()]
      .filter((row) => this.unordered.has(row.resource) || oldest.get(row.resource) === row)
      .toSorted(byLastAttempt);
  }

  /**
   * When the order of each resource ends: an hour after the first failure of its oldest delivery, or after the end of a hold. Only for
   * resources with an order and a failure.
   */
  orderEnds({ heldUntil }: Endpoint): Map<string, number> {
    const ends = new Map<string, number>();
    for (const [resource, { firstFailureAt }] of this.#oldest()) {
      if (firstFailureAt !== null && !this.unordered.has(resource))
        ends.set(resource, Math.max(firstFailureAt, heldUntil) + ORDER_LASTS);
    }
    return ends;
  }

  /** Resources without an order of which nothing waits any more. */
  finished(): string[] {
    const oldest = this.#oldest();
    return [...this.unordered].filter((resource) => !oldest.has(resource));
  }
}
