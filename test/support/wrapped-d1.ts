import { env } from "cloudflare:workers";

/** A statement with the values for its `?`. */
export interface BoundStatement {
  sql: string;
  values: unknown[];
}

/** A round trip to D1: these statements, and the function that runs them. */
type RoundTrip = (run: () => Promise<D1Result[]>, statements: BoundStatement[]) => Promise<D1Result[]>;

interface Bound extends BoundStatement {
  statement: D1PreparedStatement;
  all(): Promise<D1Result | undefined>;
}

/**
 * The real database, with a wrapper around each of its round trips.
 *
 * @param onSession receives the bookmark or constraint of each new session.
 */
export function wrappedDatabase(roundTrip: RoundTrip, onSession: (start: string) => void = () => {}): D1Database {
  const DB = {
    withSession(start: string) {
      onSession(start);
      const session = env.DB.withSession(start);
      return {
        getBookmark: () => session.getBookmark(),
        prepare: (sql: string) => ({
          bind(...values: unknown[]): Bound {
            const statement = session.prepare(sql).bind(...values);
            return {
              sql,
              values,
              statement,
              all: async () => (await roundTrip(async () => [await statement.all()], [{ sql, values }]))[0],
            };
          },
        }),
        batch: (list: Bound[]) => roundTrip(() => session.batch(list.map(({ statement }) => statement)), list),
      };
    },
  };
  return DB as unknown as D1Database;
}
