import { wrappedDatabase } from "./wrapped-d1.ts";

/** The fault of one round trip: none, or an error before or after the statements took effect. */
export type Fault = undefined | { when: "before" | "after"; message: string };

/** The real database, with one of these faults on each round trip, in order. Afterwards it works. `roundTrips` counts all. */
export function faultyDatabase(...faults: Fault[]): { DB: D1Database; roundTrips: () => number } {
  let count = 0;
  const DB = wrappedDatabase(async (run) => {
    const fault = faults[count++];
    if (fault?.when === "before") throw new Error(fault.message);
    const results = await run();
    if (fault?.when === "after") throw new Error(fault.message);
    return results;
  });
  return { DB, roundTrips: () => count };
}
