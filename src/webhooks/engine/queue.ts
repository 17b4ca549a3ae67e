import type { Outcome } from "./schedule.ts";

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

/** Milliseconds for which a resource that is refused keeps its order. */
const ORDER_LASTS = 3_600_000;

/** The name of what has one order: a resource, and beside it the replay of it. */
export const laneOf = ({ resource, isReplay }: Pick<Waiting, "resource" | "isReplay">): string =>
  isReplay ? `replay ${resource}` : resource;

/** The deliveries that wait, in the order of the feed, and the lanes without an order. */
export class Queue {
  readonly #rows = new Map<string, Waiting>();
  /** Each has a row at least, and its rows in the order of their keys. */
  readonly #lanes = new Map<string, Waiting[]>();
  /** Lanes whose events no longer wait for each other. */
  readonly #unordered: Set<string>;

  constructor(rows: readonly Waiting[], unordered: readonly string[]) {
    for (const row of rows) this.put(row);
    this.#unordered = new Set(unordered);
  }

  get size(): number {
    return this.#rows.size;
  }

  /** In no order. */
  get rows(): Waiting[] {
    return [...this.#rows.values()];
  }

  get = (key: string): Waiting | undefined => this.#rows.get(key);

  /** Adds a row, or takes the place of the one with its key. */
  put(row: Waiting): void {
    this.#rows.set(row.key, row);
    const lane = this.#lanes.get(laneOf(row)) ?? [];
    const index = lane.findIndex(({ key }) => key >= row.key);
    if (index === -1) lane.push(row);
    else lane.splice(index, lane[index]?.key === row.key ? 1 : 0, row);
    this.#lanes.set(laneOf(row), lane);
  }

  remove(row: Waiting): void {
    this.#rows.delete(row.key);
    const rest = (this.#lanes.get(laneOf(row)) ?? []).filter(({ key }) => key !== row.key);
    if (rest.length > 0) this.#lanes.set(laneOf(row), rest);
    else this.#lanes.delete(laneOf(row));
  }

  /** The oldest row of a lane. */
  head = (lane: string): Waiting | undefined => this.#lanes.get(lane)?.[0];

  /** Whether a new event of a lane has to wait for an earlier one. */
  blocks = (lane: string): boolean => this.#lanes.has(lane) && !this.#unordered.has(lane);

  /** Since when the receiver refuses the events of a lane. Null when it does not. */
  refusedSince = (lane: string): number | null => this.head(lane)?.refusedSince ?? null;

  /** The rows that wait for no earlier one. */
  get free(): Waiting[] {
    const free: Waiting[] = [];
    for (const [lane, rows] of this.#lanes) {
      const [head] = rows;
      if (rows.length > 1 && this.#unordered.has(lane)) free.push(...rows);
      else if (head !== undefined) free.push(head);
    }
    return free;
  }

  setUnordered(lane: string, isUnordered: boolean): void {
    if (isUnordered) this.#unordered.add(lane);
    else this.#unordered.delete(lane);
  }

  /** When the order of each lane ends in which an event waits for another one that is refused. */
  get orderEnds(): [lane: string, end: number][] {
    const ends: [string, number][] = [];
    for (const [lane, rows] of this.#lanes) {
      const since = rows.length > 1 ? (rows[0]?.refusedSince ?? null) : null;
      if (since !== null && !this.#unordered.has(lane)) ends.push([lane, since + ORDER_LASTS]);
    }
    return ends;
  }

  /** The lanes without an order of which nothing waits any more. */
  emptied = (): string[] => [...this.#unordered].filter((lane) => !this.#lanes.has(lane));
}
