import { originOf, shareOf } from "./budget.ts";
import { isOnlyWithin, isRefusedItself, openingAt, startsAt } from "./due.ts";
import { type Ledger, MAX_PENDING, newRow, RESET } from "./ledger.ts";
import type { Parallel } from "./parallel.ts";
import { laneOf, type Waiting } from "./queue.ts";
import type { Reader } from "./reader.ts";

/** Milliseconds for which a reset goes before every other delivery. */
const RESET_GOES_FIRST = 3_600_000;
/** Of so many attempts, the first one is offered to the replay. */
const TURNS = 4;
/** Deliveries of a replay that may wait or be read, which leave room for new events, and that a read of it is worth, at least. */
const MAX_REPLAYED = MAX_PENDING / 2;
const WORTH_A_READ = MAX_REPLAYED / 2;
/** Milliseconds for which a resource was refused before its events may be given up without a second attempt. */
const REFUSED_FOR_LONG = 30_000;
/** Events that are read beyond the room for those that wait, and while the endpoint fails. */
export const FEW = 16;

/** An attempt that may start. */
export interface Attempt {
  row: Waiting;
  body: string;
  isRefused: boolean;
  /** Where the event comes from. Undefined for one that waits in the queue. */
  reader: Reader | undefined;
}

type Situation = ReturnType<typeof situationOf>;

/**
 * What decides what may start.
 *
 * @param turn counts the attempts.
 */
export function situationOf(ledger: Ledger, parallel: Parallel, turn: number, now: number) {
  const { concurrency = 1, peers = 1 } = ledger.known ?? {};
  const { proven, url, health } = ledger.progress;
  const opening = openingAt(health, now);
  const share = shareOf(concurrency, peers, proven === originOf(url), opening.mode);
  return { ledger, parallel, turn, now, share, opening };
}

/** Whether the receiver refused the resource last, and not an outage alone. */
const isRefused = ({ queue, progress }: Ledger, row: Waiting): boolean => {
  const last = row.lastAttemptAt === null ? queue.head(laneOf(row)) : row;
  return last !== undefined && last.refusedSince !== null && !isOnlyWithin(last, progress.health.outage);
};

/**
 * Decides what starts next: those that are refused first, as far as there is a place for them, and then new events. Where one place is
 * all, they take turns: those that hang would keep it. An event of the window that has to wait for an earlier one of its resource, or for
 * a place among those that are refused, goes to the queue.
 *
 * @returns the attempt, or when one may start, as far as time decides it.
 */
export function plan(situation: Situation): Attempt | number {
  const { ledger, parallel, share, opening, now, turn } = situation;
  if (parallel.size >= share.atOnce) return Infinity;
  // Half of the places, at least one.
  const mayBeRefused = parallel.refused < Math.max(Math.floor(share.atOnce / 2), 1);
  // What an outage refused is due when it ends, and may hang. It leaves a place to new events.
  const mayBeAgain = parallel.again < Math.max(share.atOnce - 1, 1);
  const { best, soonest } = scan(situation, mayBeRefused, mayBeAgain);
  const isReplayFirst = turn % TURNS === 0;
  for (const isReplay of [isReplayFirst, !isReplayFirst]) {
    if (isReplay && parallel.replayed >= Math.max(share.atOnce - 1, 1)) continue;
    const reader = isReplay ? ledger.replay : ledger.main;
    const isNewFirst = share.atOnce === 1 && turn % 2 === 1;
    const row = best[Number(isReplay)];
    const fresh = reader && (isNewFirst || row === undefined) ? fromWindow(situation, reader, mayBeRefused) : undefined;
    if (fresh !== undefined) return fresh;
    const body = row && ledger.bodyOf(row.key);
    if (row !== undefined && body !== undefined)
      return { row, body, isRefused: isRefused(ledger, row), reader: undefined };
  }
  const hasNew = ledger.readers.some(({ size }) => size > 0);
  return hasNew && opening.anew > now ? Math.min(opening.anew, soonest) : soonest;
}

/** The rows that come next, of new events and of the replay, and when another one may start. */
function scan({ ledger, parallel, opening, now }: Situation, mayBeRefused: boolean, mayBeAgain: boolean) {
  const { queue, progress } = ledger;
  const best: [Waiting | undefined, Waiting | undefined] = [undefined, undefined];
  if (queue.quietUntil > now) return { best, soonest: queue.quietUntil };
  let soonest = Infinity;
  let isQuiet = true;
  const more = queue.visit(now, (row) => {
    const at = Math.max(startsAt(row, progress.health, opening, now), queue.notBefore(row.resource));
    if (at > now) soonest = Math.min(soonest, at);
    if (at > now) return;
    isQuiet = false;
    // An attempt of the history that is gone would reach the receiver while it lists everything.
    if (row.type === RESET && parallel.startedBefore(progress.resetAt)) return;
    if (parallel.has(row.resource) || (!mayBeRefused && isRefused(ledger, row))) return;
    if (!mayBeAgain && row.lastAttemptAt !== null) return;
    const other = best[Number(row.isReplay)];
    if (other === undefined || comesBefore(row, other)) best[Number(row.isReplay)] = row;
  });
  soonest = Math.min(soonest, more);
  queue.quietUntil = isQuiet ? soonest : 0;
  return { best, soonest };
}

/** Those whose last attempt is longest ago first. Then never attempted ones, in the order of the feed. */
function comesBefore(a: Waiting, b: Waiting): boolean {
  const [first, second] = [a.lastAttemptAt ?? Infinity, b.lastAttemptAt ?? Infinity];
  return first === second ? a.key < b.key : first < second;
}

function fromWindow(
  { ledger, parallel, opening, now }: Situation,
  reader: Reader,
  mayBeRefused: boolean,
): Attempt | undefined {
  if (opening.anew > now) return undefined;
  for (const event of reader.ready()) {
    const row = newRow(event, reader.isReplay, now);
    const refused = isRefused(ledger, row);
    const isPaused = ledger.queue.notBefore(event.resource) > now;
    const runs = parallel.has(event.resource);
    if (ledger.queue.blocks(laneOf(row), now) || isPaused || (refused && (runs || !mayBeRefused))) {
      ledger.put(row, event.body);
      reader.set(event.place, "done");
    } else if (!runs) return { row, body: event.body, isRefused: refused, reader };
  }
  return undefined;
}

/**
 * How many events may be read, by the main reader and by the replay. While all attempts run that may, or the next one is in the window and
 * only waits for its time, a read is worth it only when many fit.
 */
export function limitsOf({ ledger, parallel, share, opening, now }: Situation): [main: number, replay: number] {
  const { queue, main, replay, room, progress } = ledger;
  const isReset = now < progress.resetAt + RESET_GOES_FIRST && queue.rows.some(({ type }) => type === RESET);
  if (isReset) return [0, 0];
  // Beyond the room: one that succeeds ends a standstill behind others that are refused.
  const beyond = Math.min(Math.max(room + FEW, 0), FEW);
  const replayed = queue.replayed + (replay?.size ?? 0);
  if (opening.mode === "failing") {
    let hasNew = main.size > 0;
    // One that waits for another event, or for the end of a pause, asks nothing of the endpoint.
    queue.visit(now, ({ lastAttemptAt, isReplay, resource }) => {
      hasNew ||= lastAttemptAt === null && !isReplay && queue.notBefore(resource) <= now;
    });
    return [hasNew ? 0 : beyond, replay?.hasMore === true && replayed + queue.size === 0 ? FEW : 0];
  }
  const free = replay?.hasMore === true ? Math.min(MAX_REPLAYED - replayed, room) : 0;
  const ofReplay = free >= WORTH_A_READ || replayed === 0 ? Math.max(free, 0) : 0;
  if (room <= 0) return [ledger.readers.every(({ size }) => size === 0) ? beyond : 0, 0];
  if (room >= MAX_PENDING / 2) return [room - ofReplay, ofReplay];
  const isBusy = parallel.size >= share.atOnce || main.ready().some(({ resource }) => !parallel.has(resource));
  return [isBusy ? 0 : room - ofReplay, ofReplay];
}

/**
 * The delivery that may be given up when there is no room: of those that were refused before and after a success, the one with the most
 * attempts, two at least. Without one, the oldest of a resource that is refused for long.
 */
export function weakest({ queue, progress }: Ledger, parallel: Parallel, now: number): Waiting | undefined {
  let weakest: Waiting | undefined;
  for (const row of queue.rows) {
    const head = queue.head(laneOf(row)) ?? row;
    const isLong = row.attempts >= 2 || (head.refusedSince ?? Infinity) <= now - REFUSED_FOR_LONG;
    const mayGo = isLong && isRefusedItself(row, head, progress.health, now);
    if (!mayGo || row.type === RESET || parallel.runs(row)) continue;
    const { attempts = -1, key = "" } = weakest ?? {};
    if (row.attempts > attempts || (row.attempts === attempts && row.key < key)) weakest = row;
  }
  return weakest;
}
