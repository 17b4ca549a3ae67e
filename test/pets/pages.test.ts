import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { type Sort, SORTS } from "../../src/db/page.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { encodeCursor } from "../../src/http/cursor.ts";
import { call } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { grantKey } from "../support/keys.ts";

/** One animal in this many is sold, and the one next to it is pending. */
const RARE = 1_000;
const TOTAL = 20_000;
/** The number of categories. In each, at most one animal is pending or sold. */
const CATEGORIES = 100;

beforeAll(async () => {
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${TOTAL})
     INSERT INTO pets (name, category_id, status)
     SELECT 'Animal ' || i, i % ${CATEGORIES}, CASE i % ${RARE} WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END FROM n`,
  ).run();
});

/** Requests a page, and returns it with the statements of D1 and their cost. */
async function page(query: string) {
  const { DB, statements } = observedDatabase();
  const response = await call(`/v1/pets?${query}`, { key: await grantKey(), bindings: { DB } });
  return { animals: await response.json<unknown[]>(), statements };
}

const after = (id: string, sort: Sort = "id") => `cursor=${encodeCursor({ after: id as Int64, sort })}&sort=${sort}`;

/** A page of a category merges three statuses, and reads one row ahead of each of the other two. */
const AHEAD = 2;

describe("a page reads its own rows and one more, at every depth", () => {
  const PAGES: [query: string, limit: number, ahead?: number][] = [
    ["", 20],
    ["include=version", 20],
    ["status=available", 20],
    ["status=sold", 5],
    ["status=pending", 20],
    ["categoryId=7", 20, AHEAD],
    ["categoryId=7&status=available", 20],
    ["categoryId=0&status=sold", 20],
    ["categoryId=7&status=sold", 20],
    ["categoryId=-1", 20],
  ];
  test.each(PAGES.flatMap(([query, limit, ahead = 0]) => SORTS.map((sort) => ({ query, limit, ahead, sort }))))(
    "$query, sort=$sort",
    async ({ query, limit, ahead, sort }) => {
      for (const cursor of [`sort=${sort}`, ...["1", "5000", "15000", "19999"].map((id) => after(id, sort))]) {
        const { animals, statements } = await page(`limit=${limit}&${query}&${cursor}`);
        expect(animals.length).toBeLessThanOrEqual(limit);
        expect(statements).toHaveLength(1);
        expect(statements[0]?.meta?.rows_read, cursor).toBeLessThanOrEqual(limit + 1 + ahead);
        expect(statements[0]?.meta?.rows_written).toBe(0);
      }
    },
  );

  // Promise: pages-read-few-rows
  test.each([
    ["", 100],
    ["&status=pending", 100],
    ["&categoryId=7", 100],
    ["&categoryId=7&status=sold", 100],
    [`&${after("50")}`, 50],
    ["&sort=-id", 100],
    [`&${after("51", "-id")}&categoryId=7`, 50],
  ])("by ids, three rows for each, whatever else filters: %j", async (filters, count) => {
    const ids = Array.from({ length: 100 }, (_, index) => `id=${index + 1}`).join("&");
    const { statements } = await page(`limit=100&${ids}${filters}`);
    expect(statements[0]?.meta?.rows_read).toBeLessThanOrEqual(3 * count);
  });
});
