import type { Outcome } from "./delivery.ts";

/** A delivery that waits, without its body. Times are in milliseconds since the epoch. */
export interface Waiting {
  /** The place of the event, or the id of a message of the service. Ascends with the feed. */
  readonly key: string;
  readonly type: string;
  /** What the event is about. Its events have an order. */
  readonly resource: string;
  /** Whether it belongs to a replay. A replay has an order of its own. */
  readonly isReplay: boolean;
  /** Attempts that count. */
  readonly attempts: number;
  /** When the receiver first refused it, or the event before it that has failed for good. Null when it did not. */
  readonly refusedSince: number | null;
  readonly lastAttemptAt: number | null;
  readonly nextAttemptAt: number;
  readonly response: number | null;
  readonly error: NonNullable<Outcome["error"]> | null;
}

/** Milliseconds for which the later events of a resource wait for one that is refused. */
const ORDER_LASTS = 3_600_000;

/** The deliveries of a resource have one order, and those of its replay another one. */
export const laneOf = ({ resource, isReplay }: Pick<Waiting, "resource" | "isReplay">): string =>
  isReplay ? `replay ${resource}` : resource;

const orderEnds = ({ refusedSince }: Waiting): number => (refusedSince ?? Infinity) + ORDER_LASTS;

/** The deliveries that wait, and what is known of their resources. */
export class Queue {
  readonly #rows = new Map<string, Waiting>();
  /** Of each lane, one row at least, in the order of their keys. */
  readonly #lanes = new Map<string, Waiting[]>();
  /** Until when the receiver wants no event of a resource. A crash forgets it. */
  readonly #pauses = new Map<string, number>();
  replayed = 0;
  /** Before which no row may start. Whatever changes a row or the state of the endpoint sets it to 0. */
  quietUntil = 0;

  constructor(rows: readonly Waiting[]) {
    for (const row of rows) this.put(row);
  }

  get size(): number {
    return this.#rows.size;
  }

  get rows(): MapIterator<Waiting> {
    return this.#rows.values();
  }

  get = (key: string): Waiting | undefined => this.#rows.get(key);

  /** Adds a row, or takes the place of the one with its key. */
  put(row: Waiting): void {
    const lane = this.#lanes.get(laneOf(row)) ?? [];
    const index = lane.findIndex(({ key }) => key >= row.key);
    if (index === -1) lane.push(row);
    else lane.splice(index, lane[index]?.key === row.key ? 1 : 0, row);
    this.#lanes.set(laneOf(row), lane);
    if (row.isReplay && !this.#rows.has(row.key)) this.replayed++;
    this.#rows.set(row.key, row);
    this.quietUntil = 0;
  }

  remove(row: Waiting): void {
    if (!this.#rows.delete(row.key)) return;
    if (row.isReplay) this.replayed--;
    const rest = this.#lanes.get(laneOf(row))?.filter(({ key }) => key !== row.key) ?? [];
    if (rest.length > 0) this.#lanes.set(laneOf(row), rest);
    else this.#lanes.delete(laneOf(row));
    this.quietUntil = 0;
  }

  head = (lane: string): Waiting | undefined => this.#lanes.get(lane)?.[0];

  /** Whether a new event of a lane has to wait for an earlier one. */
  blocks(lane: string, now: number): boolean {
    const head = this.head(lane);
    return head !== undefined && orderEnds(head) > now;
  }

  /** The time before which nothing of a resource may start, because its receiver asked for it. */
  notBefore = (resource: string): number => this.#pauses.get(resource) ?? 0;

  pause(resource: string, until: number): void {
    if (until > 0) this.#pauses.set(resource, until);
    else this.#pauses.delete(resource);
    this.quietUntil = 0;
  }

  /** Forgets the pauses that end before a time. */
  endPauses(before: number): void {
    for (const [resource, until] of this.#pauses) if (until <= before) this.#pauses.delete(resource);
    this.quietUntil = 0;
  }

  /**
   * Visits the rows that wait for no earlier one.
   *
   * @returns when more of them will.
   */
  visit(now: number, see: (row: Waiting) => void): number {
    let more = Infinity;
    for (const lane of this.#lanes.values()) {
      const [head] = lane;
      const ends = head === undefined ? Infinity : orderEnds(head);
      if (ends <= now) lane.forEach(see);
      else if (head !== undefined) see(head);
      if (lane.length > 1 && ends > now) more = Math.min(more, ends);
    }
    return more;
  }
}
