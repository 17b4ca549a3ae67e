import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { encodeCursor } from "../../src/http/cursor.ts";
import { SORTS } from "../../src/db/page.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { call, expectError, expectJson, nextPage } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";

const STATUSES = ["placed", "shipped", "cancelled"] as const;
const TOTAL = 20_000;
/** All orders of this animal except one are cancelled. */
const BUSY_PET = 7;
const TIME = "2026-11-22T09:30:00.000Z";

interface Order {
  id: number;
  petId: number;
  status: (typeof STATUSES)[number];
  reference?: string;
}

/** The first half belongs to the busy animal; one order in a thousand of the rest is shipped. */
const orders: Order[] = Array.from({ length: TOTAL }, (_, index) => {
  const id = index + 1;
  const reference = id % 3 === 0 ? { reference: `cart ${id % 2}` } : {};
  if (id <= TOTAL / 2) return { id, petId: BUSY_PET, status: id === 5_000 ? "placed" : "cancelled", ...reference };
  return { id, petId: id, status: id % 1_000 === 0 ? "shipped" : "placed", ...reference };
});
const toWire = ({ id, petId, status, reference }: Order) => ({
  id,
  petId,
  quantity: 1,
  status,
  createdAt: TIME,
  shipDate: status === "shipped" ? TIME : null,
  complete: status === "shipped",
  ...(reference !== undefined && { reference }),
});

let key: string;
beforeAll(async () => {
  key = await grantKey({ scopes: ["store:read"] });
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${TOTAL})
     INSERT INTO orders (id, pet_id, status, created_at, ship_date, reference)
     SELECT i,
       CASE WHEN i <= ${TOTAL / 2} THEN ${BUSY_PET} ELSE i END,
       CASE WHEN i = 5000 THEN 'placed' WHEN i <= ${TOTAL / 2} THEN 'cancelled' WHEN i % 1000 = 0 THEN 'shipped' ELSE 'placed' END,
       '${TIME}', CASE WHEN i > ${TOTAL / 2} AND i % 1000 = 0 THEN '${TIME}' END,
       CASE WHEN i % 3 = 0 THEN 'cart ' || (i % 2) END
     FROM n`,
  ).run();
});

test("following the links visits every order once and in order, with any filters", async () => {
  const start = fc.integer({ min: 0, max: TOTAL });
  const status = fc.option(fc.constantFrom(...STATUSES), { nil: undefined });
  const filter = fc.oneof(
    fc.constant({}),
    fc.record({ petId: fc.constantFrom(BUSY_PET, 12_000, 15_001, 3) }),
    fc.record({ reference: fc.constantFrom("cart 0", "cart 1", "cart") }),
  ) as fc.Arbitrary<{ petId?: number; reference?: string }>;
  await fc.assert(
    fc.asyncProperty(start, status, filter, fc.integer({ min: 20, max: 100 }), async (after, wanted, more, limit) => {
      const { petId: pet, reference } = more;
      const query = new URLSearchParams({
        limit: String(limit),
        cursor: encodeCursor({ after: String(after) as Int64, sort: "id" }),
      });
      if (wanted !== undefined) query.set("status", wanted);
      if (pet !== undefined) query.set("petId", String(pet));
      if (reference !== undefined) query.set("reference", reference);
      const expected = orders.filter(
        (order) =>
          order.id > after &&
          (wanted ?? order.status) === order.status &&
          (pet ?? order.petId) === order.petId &&
          (reference ?? order.reference) === order.reference,
      );
      let path: string | undefined = `/v1/store/orders?${query.toString()}`;
      // Two pages, and the presence of a third.
      for (let page = 0; page < 2 && path !== undefined; page++) {
        const response: Response = await call(path, { key });
        const slice = expected.slice(page * limit, (page + 1) * limit).map(toWire);
        expect(await expectJson(response, 200)).toEqual(slice);
        path = nextPage(response);
        expect(path !== undefined).toBe(expected.length > (page + 1) * limit);
      }
    }),
    { numRuns: 90 },
  );
});

describe("a page reads its own rows and one more, at every depth", () => {
  const PAGES: [query: string, ahead?: number][] = [
    ["limit=20"],
    ["limit=20&status=placed"],
    ["limit=20&status=cancelled"],
    ["limit=5&status=shipped"],
    // One row more, because two indexes are merged.
    [`limit=20&petId=${BUSY_PET}`, 1],
    [`limit=20&petId=${BUSY_PET}&status=cancelled`],
    [`limit=20&petId=${BUSY_PET}&status=placed`],
    [`limit=20&petId=${BUSY_PET}&status=shipped`],
    ["limit=20&petId=12000&status=shipped"],
    ["limit=20&petId=-1"],
    ["limit=20&reference=cart+0&status=placed"],
    ["limit=20&reference=cart+0&status=shipped"],
    ["limit=20&reference=cart+1&status=cancelled"],
    // Two rows more, because the states are merged.
    ["limit=20&reference=cart+0", 2],
    ["limit=20&reference=cart", 2],
  ];
  // Promise: pages-read-few-rows
  test.each(PAGES.flatMap(([query, ahead]) => SORTS.map((sort) => ({ query, sort, ahead: ahead ?? 0 }))))(
    "$query, sort=$sort",
    async ({ query, sort, ahead }) => {
      const limit = Number(/limit=(\d+)/.exec(query)?.[1]);
      for (const after of ["0", "4990", "9000", "15000", "19999"]) {
        const { DB, statements } = observedDatabase();
        const path = `/v1/store/orders?${query}&sort=${sort}&cursor=${encodeCursor({ after: after as Int64, sort })}`;
        expect((await call(path, { key, bindings: { DB } })).status).toBe(200);
        expect(statements).toHaveLength(1);
        expect(statements[0]?.meta?.rows_read, `after ${after}`).toBeLessThanOrEqual(limit + 1 + ahead);
      }
    },
  );
});

test.each([
  ["status=gone", /^status has to be one of placed, shipped, cancelled\.$/],
  ["petId=x", /^petId has to be an integer from -2\^63 to 2\^63 - 1, in decimal digits\.$/],
  ["petId=01", /^petId /],
  ["petId=9223372036854775808", /^petId /],
  ["cursor=x", /^cursor /],
])("%s is refused", async (query, message) => {
  const response = await call(`/v1/store/orders?${query}`, { key });
  expect(await expectError(response, "invalid_request")).toMatch(message);
});

test("an animal beyond 2^53 is distinguished from its neighbour", async () => {
  onTestFinished(async () => {
    await env.DB.exec(`DELETE FROM orders WHERE id > ${TOTAL}`);
  });
  const insert = env.DB.prepare("INSERT INTO orders (pet_id, status, created_at) VALUES (?, 'placed', ?)");
  await env.DB.batch(["9007199254740992", "9007199254740993"].map((petId) => insert.bind(petId, TIME)));
  for (const petId of ["9007199254740992", "9007199254740993"]) {
    const text = await (await call(`/v1/store/orders?petId=${petId}`, { key })).text();
    expect(text).toMatch(new RegExp(`^\\[\\{"id":\\d+,"petId":${petId},"quantity":1,[^[]*\\]$`));
  }
});
