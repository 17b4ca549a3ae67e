import { env } from "cloudflare:workers";

/** What D1 says about the instance that responded. Its local simulation names no region. */
export type Place = Required<Pick<D1Meta, "served_by_region" | "served_by_primary">>;

interface Bound {
  statement: D1PreparedStatement;
  all(): Promise<D1Result>;
}

/** The real database, which says that an instance at this place responded. */
export function placedDatabase(place: Place): D1Database {
  const placed = (result: D1Result): D1Result => ({ ...result, meta: { ...result.meta, ...place } });
  const DB = {
    withSession(start: string) {
      const session = env.DB.withSession(start);
      return {
        getBookmark: () => session.getBookmark(),
        prepare: (sql: string) => ({
          bind(...values: unknown[]): Bound {
            const statement = session.prepare(sql).bind(...values);
            return { statement, all: async () => placed(await statement.all()) };
          },
        }),
        batch: async (list: Bound[]) => (await session.batch(list.map(({ statement }) => statement))).map(placed),
      };
    },
  };
  return DB as unknown as D1Database;
}
