import { wrappedDatabase } from "./wrapped-d1.ts";

/** The fault of one round trip: none, or an error before or after the statements took effect. */
export type Fault = undefined | { when: "before" | "after"; message: string };

/** The real database, with one of these faults on each round trip, in order. Afterwards it works. `roundTrips` counts all, and `starts` has how sessions were opened. */
export function faultyDatabase(...faults: Fault[]): { DB: D1Database; roundTrips: () => number; starts: string[] } {
  let count = 0;
  const starts: string[] = [];
  const roundTrip: Parameters<typeof wrappedDatabase>[0] = async (run) => {
    const fault = faults[count++];
    if (fault?.when === "before") throw new Error(fault.message);
    const results = await run();
    if (fault?.when === "after") throw new Error(fault.message);
    return results;
  };
  const DB = wrappedDatabase(roundTrip, (start) => starts.push(start));
  return { DB, roundTrips: () => count, starts };
}
