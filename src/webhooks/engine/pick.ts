import { halfOf, newEventAt, type Share, startsAt } from "./health.ts";
import { type Ledger, newRow, RESET } from "./ledger.ts";
import type { Parallel } from "./parallel.ts";
import { laneOf, type Waiting } from "./queue.ts";
import type { Reader } from "./reader.ts";

/** Milliseconds for which a reset goes before every other delivery. */
const RESET_GOES_FIRST = 3_600_000;
/** Of so many attempts, the first one is offered to the replay. */
const TURNS = 4;

/** An attempt that may start. */
export interface Attempt {
  row: Waiting;
  body: string;
  /** Whether the receiver refused the resource last. */
  isRefused: boolean;
  /** Where the event comes from. Undefined for one that waits in the queue. */
  reader: Reader | undefined;
}

/** What decides what may start. */
export interface Situation {
  ledger: Ledger;
  parallel: Parallel;
  share: Share;
  now: number;
}

/** The `feed.reset` that goes before all others, if there is one, and until when it does. */
export function resetOf({ progress, queue }: Ledger, now: number): { row: Waiting; until: number } | undefined {
  const until = progress.resetAt + RESET_GOES_FIRST;
  if (now >= until) return undefined;
  const row = queue.rows.find(({ type }) => type === RESET);
  return row && { row, until };
}

const isRefused = ({ queue }: Ledger, row: Waiting): boolean =>
  row.lastAttemptAt !== null || queue.refusedSince(laneOf(row)) !== null;

/** When a delivery that waits may start, as far as its receiver allows it. */
const opensAt = ({ ledger, now }: Situation, row: Waiting): number =>
  Math.max(startsAt(row, ledger.progress.health, now), ledger.paused.get(row.resource) ?? 0);

/**
 * The attempt that starts next. An event of the window that has to wait for an earlier one of its resource, or for a place among those
 * that are refused, goes to the queue.
 *
 * @param turn counts the attempts.
 */
export function pick(situation: Situation, turn: number): Attempt | undefined {
  const { parallel, share } = situation;
  if (parallel.size >= share.atOnce) return undefined;
  const mayReplay = parallel.count("isReplay") < halfOf(share);
  const isReplayFirst = mayReplay && turn % TURNS === 0;
  return (
    (isReplayFirst ? from(situation, true, turn) : undefined) ??
    from(situation, false, turn) ??
    (mayReplay && !isReplayFirst ? from(situation, true, turn) : undefined)
  );
}

const isOpen = (situation: Situation, row: Waiting) =>
  !situation.parallel.has(row.resource) && opensAt(situation, row) <= situation.now;

function waiting(ledger: Ledger, row: Waiting): Attempt | undefined {
  const body = ledger.bodyOf(row.key);
  return body === undefined ? undefined : { row, body, isRefused: isRefused(ledger, row), reader: undefined };
}

/**
 * Those that are refused first, as far as there is a place for them, and then new events. Where one place is all, they take turns: those
 * that hang would keep it.
 */
function from(situation: Situation, isReplay: boolean, turn: number): Attempt | undefined {
  const { ledger, parallel, share } = situation;
  const reader = isReplay ? ledger.replay : ledger.main;
  const isNewFirst = share.atOnce === 1 && turn % 2 === 1;
  const first = isNewFirst && reader ? fromWindow(situation, reader, true) : undefined;
  if (first !== undefined) return first;
  const mayBeRefused = parallel.count("isRefused") < halfOf(share);
  let best: Waiting | undefined;
  for (const row of ledger.queue.free) {
    if (row.isReplay !== isReplay || !isOpen(situation, row)) continue;
    if (!mayBeRefused && isRefused(ledger, row)) continue;
    if (best === undefined || comesBefore(row, best)) best = row;
  }
  if (best !== undefined) return waiting(ledger, best);
  return reader && fromWindow(situation, reader, mayBeRefused);
}

/** Those whose last attempt is longest ago first. Then never attempted ones, in the order of the feed. */
function comesBefore(a: Waiting, b: Waiting): boolean {
  const [first, second] = [a.lastAttemptAt ?? Infinity, b.lastAttemptAt ?? Infinity];
  return first === second ? a.key < b.key : first < second;
}

function fromWindow(situation: Situation, reader: Reader, mayBeRefused: boolean): Attempt | undefined {
  const { ledger, parallel, now } = situation;
  if (newEventAt(ledger.progress.health, now) > now) return undefined;
  for (const event of reader.ready()) {
    const row = newRow(event, reader.isReplay, now);
    const isPaused = (ledger.paused.get(event.resource) ?? 0) > now;
    const refused = isRefused(ledger, row);
    if (ledger.queue.blocks(laneOf(row)) || isPaused || (refused && !mayBeRefused)) {
      ledger.put(row, event.body);
      reader.set(event, "done");
    } else if (!parallel.has(event.resource)) return { row, body: event.body, isRefused: refused, reader };
  }
  return undefined;
}

/** When something may start that waits, as far as time decides. */
export function startTimes(situation: Situation): number[] {
  const { ledger, now } = situation;
  const reset = resetOf(ledger, now);
  if (reset !== undefined) return [opensAt(situation, reset.row), reset.until];
  const hasNew = ledger.readers.some(({ size }) => size > 0);
  return [
    ...(hasNew ? [newEventAt(ledger.progress.health, now)] : []),
    ...ledger.queue.free.map((row) => opensAt(situation, row)),
    ...ledger.queue.orderEnds.map(([, end]) => end),
  ];
}
