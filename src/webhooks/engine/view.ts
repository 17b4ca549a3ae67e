import { encodeEventCursor } from "../../feed/place.ts";
import { openingAt, startsAt } from "./due.ts";
import type { Ledger } from "./ledger.ts";
import type { Waiting } from "./queue.ts";
import { modeAt } from "./state.ts";
import type { Finished } from "./progress.ts";
import { eventId } from "./store.ts";

export type WebhookState = ReturnType<typeof stateOf>;
export type Delivery = ReturnType<typeof deliveriesOf>["deliveries"][number];

export interface Page {
  limit: number;
  /** The position that precedes the page. */
  after?: string | undefined;
  status?: "pending" | Finished["status"] | undefined;
}

const toTime = (milliseconds: number) => new Date(milliseconds).toISOString();

/** What a client sees of a webhook. A time that is not known is absent. */
export function stateOf(ledger: Ledger) {
  const now = Date.now();
  const { progress, queue, main, replay } = ledger;
  const { health } = progress;
  const opening = openingAt(health, now);
  let next = Infinity;
  if (progress.enabled) queue.visit(now, (row) => (next = Math.min(next, startsAt(row, health, opening, now))));
  return {
    health: modeAt(health, now) === "failing" ? ("failing" as const) : ("ok" as const),
    pending: queue.size,
    cursor: encodeEventCursor(main.place),
    ...(health.lastSuccessAt !== null && { lastSuccessAt: toTime(health.lastSuccessAt) }),
    ...(next !== Infinity && { nextAttemptAt: toTime(next) }),
    resets: progress.resets,
    // Where the replay is, and where it ends, while one runs.
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
) {
  const listed = [
    ...waiting
      .toSorted((a, b) => (a.key < b.key ? 1 : -1))
      .map((row) => ({ ...row, position: `p${row.key}`, event: eventId(row.key), status: "pending" as const })),
    ...finished.map((row) => ({
      ...row,
      position: `f${String(row.number).padStart(16, "0")}`,
      nextAttemptAt: null,
    })),
  ].filter((one) => (after === undefined || one.position < after) && (status === undefined || one.status === status));
  const page = listed.slice(0, limit);
  return {
    // A null is absent.
    deliveries: page.map(
      ({ event, type, attempts, lastAttemptAt, response, error, isReplay, nextAttemptAt, ...row }) => ({
        event,
        type,
        status: row.status,
        attempts,
        ...(lastAttemptAt !== null && { lastAttemptAt: toTime(lastAttemptAt) }),
        ...(response !== null && { response }),
        ...(error !== null && { error }),
        ...(isReplay && { replay: true as const }),
        ...(nextAttemptAt !== null && { nextAttemptAt: toTime(nextAttemptAt) }),
      }),
    ),
    next: listed.length > limit ? page.at(-1)?.position : undefined,
  };
}
