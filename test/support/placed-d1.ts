import { wrappedDatabase } from "./wrapped-d1.ts";

/**
 * The metadata of D1 about the instance that responded, and the milliseconds that it spent on each statement. Its local simulation has no
 * region.
 */
export type Place = Required<Pick<D1Meta, "served_by_region" | "served_by_primary">> &
  Partial<Pick<D1Meta, "duration">>;

/** The real database, which reports that an instance in this region responded. */
export function placedDatabase(place: Place): D1Database {
  return wrappedDatabase(async (run) => {
    const results = await run();
    return results.map((result) => ({ ...result, meta: { ...result.meta, ...place } }));
  });
}
