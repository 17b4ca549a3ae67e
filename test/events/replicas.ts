import { env } from "cloudflare:workers";

// Replicas that lag, in one real database. The table `history` keeps every row of the feed with the commits that wrote and removed it,
// so that a query can see the feed as it was after any commit.

const NEVER = 2 ** 40;

export const prepareHistory = () =>
  env.DB.exec(
    "CREATE TABLE history (id INTEGER, tag INTEGER, type, version, data, created_at, born INTEGER, died INTEGER)",
  );

/** Empties the feed, and starts its history. */
export async function startHistory(): Promise<void> {
  await env.DB.batch(
    [
      "DELETE FROM events",
      "INSERT INTO events VALUES (1, random() & 4294967295, 'feed.started', 0, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
      "DELETE FROM history",
    ].map((sql) => env.DB.prepare(sql)),
  );
}

export async function record(commit: number): Promise<void> {
  const same = "one.id = other.id AND one.tag = other.tag";
  await env.DB.batch([
    env.DB.prepare(
      `UPDATE history AS one SET died = ? WHERE died = ${NEVER} AND NOT EXISTS (SELECT 1 FROM events AS other WHERE ${same})`,
    ).bind(commit),
    env.DB.prepare(
      `INSERT INTO history SELECT *, ?, ${NEVER} FROM events AS one
       WHERE NOT EXISTS (SELECT 1 FROM history AS other WHERE ${same} AND died = ${NEVER})`,
    ).bind(commit),
  ]);
}

/** The change that puts the feed back to its state after a commit, as a restore of the database does. */
export const restoration = (commit: number): D1PreparedStatement[] => [
  env.DB.prepare("DELETE FROM events"),
  env.DB.prepare(
    "INSERT INTO events SELECT id, tag, type, version, data, created_at FROM history WHERE born <= ?1 AND died > ?1",
  ).bind(commit),
];

/** The database whose replicas have seen the feed up to this commit. Sessions that start at the primary see all. */
export function replicaAt(commit: number) {
  const starts: string[] = [];
  const feed = `FROM (SELECT * FROM history WHERE born <= ${commit} AND died > ${commit}) AS events`;
  const DB = {
    withSession(start: string) {
      starts.push(start);
      const session = env.DB.withSession(start);
      const isPrimary = start === "first-primary";
      return {
        getBookmark: () => session.getBookmark(),
        prepare: (sql: string) => ({
          bind: (...values: unknown[]) => ({
            async all() {
              const statement = session.prepare(isPrimary ? sql : sql.replaceAll(/\bfrom events\b/gi, feed));
              const result = await statement.bind(...values).all();
              return { ...result, meta: { ...result.meta, served_by_primary: isPrimary } };
            },
          }),
        }),
      };
    },
  };
  return { DB: DB as unknown as D1Database, starts };
}
