import { encodeEventCursor } from "../../feed/place.ts";
import { openingAt, startsAt } from "./due.ts";
import type { Ledger } from "./ledger.ts";
import type { Waiting } from "./queue.ts";
import { modeAt } from "./state.ts";
import type { Finished } from "./progress.ts";
import { eventId } from "./store.ts";

export interface WebhookState {
  health: "ok" | "failing";
  pending: number;
  cursor: string;
  lastSuccessAt?: string;
  nextAttemptAt?: string;
  resets: number;
  /** Where the replay is, and where it ends, while one runs. */
  replay?: { cursor: string; end: string };
  /** What a replay with `latest` left out. */
  skipped?: { from: string; to: string };
}

export interface Delivery {
  event: string;
  type: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  lastAttemptAt?: string;
  nextAttemptAt?: string;
  response?: number;
  error?: "timeout" | "connection" | "no_room";
  /** Whether a replay delivers it. Absent when not. */
  replay?: true;
}

export interface Page {
  limit: number;
  /** The position that precedes the page. */
  after?: string | undefined;
  status?: Delivery["status"] | undefined;
}

const toTime = (milliseconds: number) => new Date(milliseconds).toISOString();

export function stateOf(ledger: Ledger): WebhookState {
  const now = Date.now();
  const { progress, queue, main, replay } = ledger;
  const { health } = progress;
  const opening = openingAt(health, now);
  let next = Infinity;
  if (progress.enabled) queue.visit(now, (row) => (next = Math.min(next, startsAt(row, health, opening, now))));
  return {
    health: modeAt(health, now) === "failing" ? "failing" : "ok",
    pending: queue.size,
    cursor: encodeEventCursor(main.place),
    ...(health.lastSuccessAt !== null && { lastSuccessAt: toTime(health.lastSuccessAt) }),
    ...(next !== Infinity && { nextAttemptAt: toTime(next) }),
    resets: progress.resets,
    ...(replay?.end !== undefined && {
      replay: { cursor: encodeEventCursor(replay.place), end: encodeEventCursor(replay.end) },
    }),
  };
}

/**
 * The deliveries that are known, the newest first: those that wait, and then those that finished.
 *
 * @returns a page, and the position of its last delivery if there are more.
 */
export function deliveriesOf(
  waiting: readonly Waiting[],
  finished: readonly (Finished & { number: number })[],
  { limit, after, status }: Page,
): { deliveries: Delivery[]; next: string | undefined } {
  const positioned = [
    ...waiting
      .toSorted((a, b) => (a.key < b.key ? 1 : -1))
      .map((row) => {
        const delivery = deliveryOf({ ...row, event: eventId(row.key), status: "pending" });
        return { position: `p${row.key}`, delivery: { ...delivery, nextAttemptAt: toTime(row.nextAttemptAt) } };
      }),
    ...finished.map((row) => ({
      position: `f${String(row.number).padStart(16, "0")}`,
      delivery: deliveryOf(row),
    })),
  ];
  const all = positioned.filter(
    ({ position, delivery }) =>
      (after === undefined || position < after) && (status === undefined || delivery.status === status),
  );
  const page = all.slice(0, limit);
  return {
    deliveries: page.map(({ delivery }) => delivery),
    next: all.length > limit ? page.at(-1)?.position : undefined,
  };
}

/** A null is absent. */
function deliveryOf(
  row: Pick<Delivery, "event" | "type" | "status" | "attempts"> &
    Pick<Waiting, "lastAttemptAt" | "response" | "isReplay"> &
    Pick<Finished, "error">,
): Delivery {
  const { event, type, status, attempts, lastAttemptAt, response, error, isReplay } = row;
  const delivery: Delivery = { event, type, status, attempts };
  if (lastAttemptAt !== null) delivery.lastAttemptAt = toTime(lastAttemptAt);
  if (response !== null) delivery.response = response;
  if (error !== null) delivery.error = error;
  if (isReplay) delivery.replay = true;
  return delivery;
}
