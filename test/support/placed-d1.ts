import { wrappedDatabase } from "./wrapped-d1.ts";

/** What D1 says about the instance that responded. Its local simulation names no region. */
export type Place = Required<Pick<D1Meta, "served_by_region" | "served_by_primary">>;

/** The real database, which says that an instance at this place responded. */
export function placedDatabase(place: Place): D1Database {
  return wrappedDatabase(async (run) => {
    const results = await run();
    return results.map((result) => ({ ...result, meta: { ...result.meta, ...place } }));
  });
}
