import { isFailing } from "./health.ts";
import { MAX_PENDING } from "./ledger.ts";
import { resetOf, type Situation } from "./pick.ts";

/** Events of a replay that may wait: it leaves room for new ones. */
const MAX_REPLAYED = MAX_PENDING / 2;
/** Events that are read beyond the room for those that wait, and while the endpoint fails. */
export const FEW = 16;

/** How many events may be read, by the main reader and by the replay, which leaves half of the room. */
export function limitsOf(situation: Situation): [main: number, replay: number] {
  const { ledger, now } = situation;
  const { progress, queue, replay } = ledger;
  if (resetOf(ledger, now) !== undefined) return [0, 0];
  const room = roomOf(situation);
  if (replay?.hasMore !== true) return [room, 0];
  if (isFailing(progress.health)) return [room, queue.size + replay.size === 0 ? FEW : 0];
  const waiting = replay.size + queue.rows.filter(({ isReplay }) => isReplay).length;
  const ofReplay = Math.max(Math.min(Math.ceil(room / 2), MAX_REPLAYED - waiting), 0);
  return [room - ofReplay, ofReplay];
}

/** While all attempts run that may, a read is worth it only when many fit. */
function roomOf({ ledger, parallel, share }: Situation): number {
  const { progress, queue, main, readers, room } = ledger;
  // Beyond the room: one that succeeds ends a standstill behind others that are refused.
  const beyond = Math.max(room + FEW, 0);
  if (isFailing(progress.health)) {
    const hasNew = main.size > 0 || queue.free.some((row) => row.lastAttemptAt === null && !row.isReplay);
    return hasNew ? 0 : Math.min(beyond, FEW);
  }
  if (room > 0) return parallel.size >= share.atOnce && room < MAX_PENDING / 2 ? 0 : room;
  const inWindows = readers.reduce((sum, { size }) => sum + size, 0);
  return inWindows === 0 ? beyond : 0;
}
