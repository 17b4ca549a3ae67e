import { beforeAll, expect, test } from "vitest";
import { type Sort, SORTS } from "../../src/db/page.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { encodeCursor } from "../../src/http/cursor.ts";
import { call } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { grantKey, grantToken } from "../support/keys.ts";
import { manyRows } from "../support/many-rows.ts";

const TOTAL = 20_000;
/** An order a minute. */
const TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', 1800000000 + 60 * i, 'unixepoch')";
const DAY = "createdAfter=2027-01-18T00:00:00Z&createdBefore=2027-01-19T00:00:00Z";
/** Rows that find both ends of a time among as many orders, and those of two minutes. */
const ENDS = 2 * (2 * Math.ceil(Math.log2(TOTAL)) + 4) + 2;

let keys: { [owner: string]: string };
beforeAll(async () => {
  const shop = await grantKey();
  keys = { shop, "the token of ada": await grantToken(shop, { customer: "ada" }) };
  const fill = (insert: string) => manyRows(TOTAL, insert).run();
  // One animal in a thousand is sold, and the one next to it is pending: at most one of a category is either.
  await fill(
    `INSERT INTO pets (name, category_id, status)
     SELECT 'Animal ' || i, i % 100, CASE i % 1000 WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END FROM n`,
  );
  // The first half is for animal 7, and one of these is placed. Of the other half, one in a thousand is shipped.
  await fill(
    `INSERT INTO orders (id, pet_id, status, created_at, ship_date, reference, customer)
     SELECT i, iif(i <= ${TOTAL / 2}, 7, i),
       CASE WHEN i = 5000 THEN 'placed' WHEN i <= ${TOTAL / 2} THEN 'cancelled' WHEN i % 1000 = 0 THEN 'shipped' ELSE 'placed' END,
       ${TIME}, iif(i > ${TOTAL / 2} AND i % 1000 = 0, ${TIME}, NULL), iif(i % 3 = 0, 'cart ' || (i % 2), NULL),
       iif(i % 2, 'ada', NULL)
     FROM n`,
  );
});

/** The rows that one statement reads for a page. */
async function rowsOf(path: string, owner = "shop"): Promise<number> {
  const { DB, statements } = observedDatabase();
  const response = await call(path, { key: keys[owner] ?? "", bindings: { DB } });
  expect(response.status).toBe(200);
  expect(statements).toHaveLength(1);
  expect(statements[0]?.meta?.rows_written).toBe(0);
  return statements[0]?.meta?.rows_read ?? Number.NaN;
}
const after = (id: number, sort: Sort = "id") =>
  `cursor=${encodeCursor({ after: String(id) as Int64, sort })}&sort=${sort}`;

const [PETS, ORDERS] = ["/v1/pets", "/v1/store/orders"];
/** A page that merges several indexes reads a row ahead of each. */
const PAGES: [path: string, query: string, limit?: number, ahead?: number, owner?: string][] = [
  [PETS, ""],
  [PETS, "include=version"],
  [PETS, "status=available"],
  [PETS, "status=sold", 5],
  [PETS, "status=pending"],
  // Of three statuses.
  [PETS, "categoryId=7", 20, 2],
  [PETS, "categoryId=7&status=available"],
  [PETS, "categoryId=0&status=sold"],
  [PETS, "categoryId=7&status=sold"],
  [PETS, "categoryId=-1"],
  [ORDERS, ""],
  [ORDERS, "status=placed"],
  [ORDERS, "status=cancelled"],
  [ORDERS, "status=shipped", 5],
  // Of the orders that hold the animal, and those that are cancelled.
  [ORDERS, "petId=7", 20, 1],
  [ORDERS, "petId=7&status=cancelled"],
  [ORDERS, "petId=7&status=placed"],
  [ORDERS, "petId=7&status=shipped"],
  [ORDERS, "petId=12000&status=shipped"],
  [ORDERS, "petId=-1"],
  [ORDERS, "reference=cart+0&status=placed"],
  [ORDERS, "reference=cart+0&status=shipped"],
  [ORDERS, "reference=cart+1&status=cancelled"],
  // Of three states.
  [ORDERS, "reference=cart+0", 20, 2],
  [ORDERS, "reference=cart", 20, 2],
  [ORDERS, DAY, 20, ENDS],
  [ORDERS, `${DAY}&petId=7&status=cancelled`, 20, ENDS],
  [ORDERS, "createdBefore=2027-01-18T00:00:00Z&reference=cart+0", 20, (3 * ENDS) / 2 + 2],
  [ORDERS, DAY, 20, 3 * ENDS + 2, "the token of ada"],
  ...["shop", "the token of ada"].flatMap((owner): typeof PAGES =>
    ["", "&status=shipped", "&status=placed"].map((status) => [
      ORDERS,
      owner === "shop" ? `customer=ada${status}` : status,
      20,
      status === "" ? 2 : 0,
      owner,
    ]),
  ),
];

// Promise: pages-read-few-rows
test.each(
  PAGES.flatMap(([path, query, limit = 20, ahead = 0, owner = "shop"]) =>
    SORTS.map((sort) => ({ path, query, limit, ahead, owner, sort })),
  ),
)("a page reads its own rows and one more, at every depth: $path?$query, sort=$sort, by $owner", async (page) => {
  const { path, query, limit, ahead, owner, sort } = page;
  for (const cursor of [`sort=${sort}`, ...[0, 1, 4_990, 9_000, 15_000, 19_999].map((id) => after(id, sort))])
    expect(await rowsOf(`${path}?limit=${limit}&${query}&${cursor}`, owner), cursor).toBeLessThanOrEqual(
      limit + 1 + ahead,
    );
});

// Promise: pages-read-few-rows
test.each([
  ["", 100],
  ["&status=pending", 100],
  ["&categoryId=7", 100],
  ["&categoryId=7&status=sold", 100],
  [`&${after(50)}`, 50],
  ["&sort=-id", 100],
  [`&${after(51, "-id")}&categoryId=7`, 50],
])("a page by ids reads three rows for each, whatever else filters: %j", async (filters, count) => {
  const ids = Array.from({ length: 100 }, (_, index) => `id=${index + 1}`).join("&");
  expect(await rowsOf(`${PETS}?limit=100&${ids}${filters}`)).toBeLessThanOrEqual(3 * count);
});
