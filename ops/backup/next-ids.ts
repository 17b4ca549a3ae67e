import type { Database } from "./connection.ts";
import type { Manifest } from "./manifest.ts";
import type { Counters } from "./progress.ts";
import { SELECT_TIME } from "./tables.ts";

// The ids that a restored database gives out next: higher than all that were given out before.

/**
 * A restore adds this to each counter of ids, of the backup or of the data that it replaces, and as much again for each day since the backup.
 * It is 11,574 rows a second. Below that, no id is given out again that was given out since the backup, even when the same one is restored
 * into a second new database. JavaScript holds such ids exactly.
 */
export const MARGIN = 1_000_000_000n;
const DAY = 86_400_000n;
/** Half of the ids are left above it. After the id 2^63 - 1, a table with a counter takes no row, and another one gives out random ids. */
const MAX_ID = 2n ** 62n;
/** Milliseconds. Two databases may have different clocks. */
const CLOCK_DIFFERENCE = 60_000;

/** The id from which a table goes on. @param age of the backup in milliseconds. */
export const raiseId = (id: string, age: bigint): bigint => BigInt(id) + MARGIN + (MARGIN * age) / DAY;

export const largerId = (one: string, other = "0"): string => (BigInt(one) > BigInt(other) ? one : other);

/** The age of a backup in milliseconds, by the clock of a database. @throws Error when its moment is in the future. */
export async function ageOf({ moment }: Manifest, database: Database): Promise<bigint> {
  const [[clock] = []] = await database.run([SELECT_TIME]);
  const time = String(clock?.["time"]);
  const age = Date.parse(time) - Date.parse(moment.time);
  if (age >= -CLOCK_DIFFERENCE) return BigInt(Math.max(0, age));
  throw new Error(`The backup is of ${moment.time}, which is in the future: ${database.name} has the time ${time}.`);
}

/**
 * @param largest the largest id of each table in the files of the backup.
 * @throws Error when the backup has an id that it says was not given out, or one after which too few are left.
 */
export function refuseWrongIds({ counters, moment }: Manifest, largest: Counters, age: bigint): void {
  const given: Counters = { ...counters, events: moment.event.id };
  for (const [table, id] of Object.entries(largest)) {
    const last = given[table];
    if (last !== undefined && BigInt(id) > BigInt(last))
      throw new Error(`The manifest says that ${table} gave out no id above ${last}, and the backup has ${id}.`);
  }
  refuseHighIds("The backup", { ...largest, ...given }, age);
}

/** @throws Error when too few ids are left after one of these. */
export function refuseHighIds(whose: string, ids: Counters, age: bigint): void {
  for (const [table, id] of Object.entries(ids)) {
    if (raiseId(id, age) > MAX_ID)
      throw new Error(`${whose} has given out the id ${id} in ${table}: a restore would leave too few.`);
  }
}
