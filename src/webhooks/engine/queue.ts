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
  /** When the receiver first refused an event of the resource since it took one. Null when it did not. */
  readonly refusedSince: number | null;
  readonly lastAttemptAt: number | null;
  readonly nextAttemptAt: number;
  readonly response: number | null;
  readonly error: NonNullable<Outcome["error"]> | null;
}

/** What has one order: the deliveries of a resource that wait, or of the replay of it. */
interface Lane {
  /** One at least, in the order of their keys. */
  rows: Waiting[];
  /** Whether they no longer wait for each other. */
  isUnordered: boolean;
}

/** Milliseconds for which a resource that is refused keeps its order. */
const ORDER_LASTS = 3_600_000;

/** The name of a lane. */
export const laneOf = ({ resource, isReplay }: Pick<Waiting, "resource" | "isReplay">): string =>
  isReplay ? `replay ${resource}` : resource;

/** The deliveries that wait, and what is known of their resources. */
export class Queue {
  readonly #rows = new Map<string, Waiting>();
  readonly #lanes = new Map<string, Lane>();
  /** Lanes without an order. One of which nothing waits any more gets its order back when the queue is recorded. */
  readonly unordered: Set<string>;
  /** Until when the receiver wants no event of a resource. A crash forgets it. */
  readonly #pauses = new Map<string, number>();
  /** Of them, those of a replay. */
  replayed = 0;
  /** Before which no row may start. Whatever changes a row or the state of the endpoint sets it to 0. */
  quietUntil = 0;

  constructor(rows: readonly Waiting[], unordered: readonly string[]) {
    this.unordered = new Set(unordered);
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
    const name = laneOf(row);
    const lane = this.#lanes.get(name) ?? { rows: [], isUnordered: this.unordered.has(name) };
    const index = lane.rows.findIndex(({ key }) => key >= row.key);
    if (index === -1) lane.rows.push(row);
    else lane.rows.splice(index, lane.rows[index]?.key === row.key ? 1 : 0, row);
    this.#lanes.set(name, lane);
    if (row.isReplay && !this.#rows.has(row.key)) this.replayed++;
    this.#rows.set(row.key, row);
    this.quietUntil = 0;
  }

  remove(row: Waiting): void {
    if (this.#rows.delete(row.key) && row.isReplay) this.replayed--;
    const name = laneOf(row);
    const lane = this.#lanes.get(name);
    if (lane !== undefined) lane.rows = lane.rows.filter(({ key }) => key !== row.key);
    if (lane?.rows.length === 0) this.#lanes.delete(name);
    this.quietUntil = 0;
  }

  /** The oldest row of a lane. */
  head = (lane: string): Waiting | undefined => this.#lanes.get(lane)?.rows[0];

  /** Whether a new event of a lane has to wait for an earlier one. */
  blocks = (lane: string): boolean => this.#lanes.get(lane)?.isUnordered === false;

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

  /** Visits the rows that wait for no earlier one, each with the time at which the order of its lane ends. */
  visit(see: (row: Waiting, orderEnds: number, lane: string) => void): void {
    for (const [name, { rows, isUnordered }] of this.#lanes) {
      const [head] = rows;
      if (head === undefined) continue;
      const isWaitedFor = rows.length > 1 && !isUnordered && head.refusedSince !== null;
      see(head, isWaitedFor ? (head.refusedSince ?? 0) + ORDER_LASTS : Infinity, name);
      if (isUnordered) for (const row of rows.slice(1)) see(row, Infinity, name);
    }
  }

  setUnordered(name: string, isUnordered: boolean): void {
    if (isUnordered) this.unordered.add(name);
    else this.unordered.delete(name);
    const lane = this.#lanes.get(name);
    if (lane !== undefined) lane.isUnordered = isUnordered;
    this.quietUntil = 0;
  }

  /** The lanes without an order of which nothing waits any more. */
  emptied = (): string[] => [...this.unordered].filter((lane) => !this.#lanes.has(lane));
}
