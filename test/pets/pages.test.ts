import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { Session, type D1Usage } from "../../src/db/session.ts";
import type { Int64 } from "../../src/int64.ts";
import { listPets } from "../../src/pets/queries.ts";

/** One animal in this many is sold, and one in this many, beside it, is pending. */
const RARE = 1_000;
const TOTAL = 20_000;

beforeAll(async () => {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${TOTAL})
     INSERT INTO pets (name, category_id, status)
     SELECT 'Animal ' || i, i, CASE i % ${RARE} WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END FROM n`,
  ).run();
});

/** Runs a query on a session of its own: what D1 says that it cost, by round trip, and the SQL that was sent. */
async function measure(run: (session: Session) => Promise<unknown>) {
  const usage: D1Usage[] = [];
  const statements: string[] = [];
  const DB = {
    withSession(start: string) {
      const session = env.DB.withSession(start);
      return {
        getBookmark: () => session.getBookmark(),
        batch: (list: D1PreparedStatement[]) => session.batch(list),
        prepare(sql: string) {
          statements.push(sql);
          return session.prepare(sql);
        },
      };
    },
  };
  await run(new Session(DB as unknown as D1Database, undefined, (answer) => usage.push(answer)));
  return { usage, statements };
}

describe("a page costs its own rows, and no more", () => {
  test.each([
    ["the first page", { limit: 20 }],
    ["a deep page", { limit: 20, after: "15000" as Int64 }],
    ["a page with a common status", { limit: 20, after: "15000" as Int64, status: "available" as const }],
    ["a page with a rare status", { limit: 10, status: "sold" as const }],
    ["a deep page with a rare status", { limit: 5, after: "10000" as Int64, status: "sold" as const }],
    ["a page past the last animal with the status", { limit: 20, after: "19999" as Int64, status: "pending" as const }],
  ])("%s", async (_, page) => {
    const { usage, statements } = await measure(async (session) => {
      expect((await listPets(session, page)).length).toBeLessThanOrEqual(page.limit);
    });
    expect(usage).toHaveLength(1);
    expect(usage[0]?.rowsRead).toBeLessThanOrEqual(page.limit);
    expect(usage[0]?.rowsWritten).toBe(0);
    expect(statements.join()).not.toMatch(/offset|count\(/i);
  });

  test.each([
    [undefined, "SEARCH pets USING INTEGER PRIMARY KEY (rowid>?)"],
    ["sold" as const, "SEARCH pets USING INDEX pets_status_idx (status=? AND rowid>?)"],
  ])("by a plan without a scan or a sort (status: %s)", async (status, plan) => {
    const { statements } = await measure((session) => listPets(session, { limit: 20, status }));
    const values = status === undefined ? ["0", 20] : [status, "0", 20];
    const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${statements[0]}`)
      .bind(...values)
      .all();
    expect(results.map(({ detail }) => detail)).toEqual([plan]);
  });
});
