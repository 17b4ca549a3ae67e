import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { call, expectError, expectJson, nextPage, ORIGIN } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { manyRows } from "../support/many-rows.ts";

// What every list does alike: its orders, and the versions of its items.

const TOTAL = 250;
/** The orders were placed from this time on, in seconds since the epoch. At some, the clock was nearly a minute behind. */
const START = 1_800_000_000;
const at = (seconds: number) => new Date((START + seconds) * 1_000).toISOString();
const within = (from: number, until: number) =>
  [
    `createdAfter=${at(from)}&createdBefore=${at(until)}`,
    `created_at >= '${at(from)}' AND created_at < '${at(until)}'`,
  ] as const;
const [DATED, IS_DATED] = within(20 * 61 - 55, 20 * 212);

beforeAll(async () => {
  const fill = (insert: string) => manyRows(TOTAL, insert).run();
  await fill(
    `INSERT INTO pets (name, category_id, status, version)
     SELECT 'Animal ' || i, i % 3, CASE i % 5 WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END, i FROM n`,
  );
  await fill("INSERT INTO categories (name, version) SELECT 'Category ' || i, i FROM n");
  await fill(
    `INSERT INTO orders (pet_id, status, created_at, ship_date, version, reference, customer)
     SELECT CASE WHEN i % 4 = 0 THEN 1 ELSE i + 1000 END, CASE WHEN i % 4 = 0 THEN 'cancelled' ELSE 'shipped' END,
       strftime('%Y-%m-%dT%H:%M:%fZ', ${START} + 20 * i - iif(i % 8 = 5, 55, 0), 'unixepoch'), '2026-01-01T00:00:00.000Z', i, iif(i % 3 = 0, 'a b', NULL), iif(i % 5 < 2, 'ada', NULL)
     FROM n`,
  );
});

interface Item {
  id: number;
  version?: number;
}

/** All pages of a list, by its links. */
async function follow(query: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let path: string | undefined = `${query}limit=${limit}`; path !== undefined;) {
    const response = await call(path, { key });
    const page = (await expectJson(response, 200)) as Item[];
    items.push(...page);
    path = nextPage(response);
    // A search may end a page early.
    if (path !== undefined && !query.includes("q=")) expect(page).toHaveLength(limit);
  }
  return items;
}

const IDS = Array.from({ length: 60 }, (_, index) => 4 * index + 1);
const BY_ID = IDS.map((id) => `id=${id}`).join("&");
const AMONG = `id IN (${IDS.join()})`;

describe.each([
  ["/v1/pets?", "pets"],
  ["/v1/pets?status=sold&", "pets WHERE status = 'sold'"],
  ["/v1/pets?categoryId=2&", "pets WHERE category_id = 2"],
  ["/v1/pets?q=animal&", "pets"],
  ["/v1/pets?categoryId=2&status=pending&", "pets WHERE category_id = 2 AND status = 'pending'"],
  [`/v1/pets?${BY_ID}&`, `pets WHERE ${AMONG}`],
  [`/v1/pets?${BY_ID}&status=sold&`, `pets WHERE ${AMONG} AND status = 'sold'`],
  [`/v1/pets?${BY_ID}&id=-5&id=999&id=9223372036854775807&categoryId=1&`, `pets WHERE ${AMONG} AND category_id = 1`],
  [
    `/v1/pets?${BY_ID}&categoryId=1&status=available&`,
    `pets WHERE ${AMONG} AND category_id = 1 AND status = 'available'`,
  ],
  ["/v1/categories?", "categories"],
  ["/v1/store/orders?", "orders"],
  ["/v1/store/orders?status=cancelled&", "orders WHERE status = 'cancelled'"],
  ["/v1/store/orders?petId=1&", "orders WHERE pet_id = 1"],
  ["/v1/store/orders?petId=1&status=cancelled&", "orders WHERE pet_id = 1 AND status = 'cancelled'"],
  ["/v1/store/orders?petId=1001&status=shipped&", "orders WHERE pet_id = 1001 AND status = 'shipped'"],
  ["/v1/store/orders?reference=a+b&", "orders WHERE reference = 'a b'"],
  ["/v1/store/orders?reference=a%20b&status=cancelled&", "orders WHERE reference = 'a b' AND status = 'cancelled'"],
  ["/v1/store/orders?customer=ada&", "orders WHERE customer = 'ada'"],
  ["/v1/store/orders?customer=ada&status=shipped&", "orders WHERE customer = 'ada' AND status = 'shipped'"],
  ["/v1/store/orders?createdAfter=2027-01-15T09:00:00Z&", "orders WHERE created_at >= '2027-01-15T09:00'"],
  ["/v1/store/orders?createdBefore=2027-01-15T08:30:00Z&", "orders WHERE created_at < '2027-01-15T08:30'"],
  ...[
    "",
    "status=cancelled",
    "petId=1",
    "petId=1&status=cancelled",
    "petId=1101&status=shipped",
    "reference=a%20b",
    "customer=ada",
    "customer=ada&status=shipped",
  ].map((filter): [string, string] => [
    `/v1/store/orders?${DATED}&${filter}&`,
    `orders WHERE ${[IS_DATED, ...[...new URLSearchParams(filter)].map(([name, value]) => `${name.replace("petId", "pet_id")} = '${value}'`)].join(" AND ")}`,
  ]),
])("%s", (list, rows) => {
  const read = ({ id }: Item) => call(`${new URL(list, ORIGIN).pathname}/${id}`, { key });

  // Promise: lists-are-ordered
  test("has every row that the filters let through, by id or the newest first, whatever the size of the page", async () => {
    const { results } = await env.DB.prepare(`SELECT id FROM ${rows} ORDER BY id`).all<Item>();
    const ascending = await follow(list, 100);
    expect(results).not.toEqual([]);
    expect(ascending.map(({ id }) => ({ id }))).toEqual(results);
    expect(await follow(`${list}sort=id&`, 100)).toEqual(ascending);
    for (const limit of [ascending.length < 20 ? 1 : 23, 100])
      expect(await follow(`${list}sort=-id&`, limit)).toEqual(ascending.toReversed());
    for (const item of [...ascending.slice(0, 2), ...ascending.slice(-1)])
      expect(await (await read(item)).json()).toEqual(item);
  });

  // Promise: lists-have-versions
  test("include=version adds the number of the ETag, and nothing else", async () => {
    const plain = await follow(list, 100);
    const versioned = await follow(`${list}include=version&`, 100);
    expect(versioned.map((item) => ({ ...item, version: undefined }))).toEqual(plain);
    for (const { version } of plain) expect(version).toBeUndefined();
    const [item = expect.unreachable()] = versioned;
    expect((await read(item)).headers.get("ETag")).toBe(`"${item.version}"`);
    expect(versioned.every(({ version }) => Number.isInteger(version))).toBe(true);
  });
});

// Promise: orders-of-a-time
test.each([
  ["createdAfter=2027-01-15T08:00:20Z&createdBefore=2027-01-15T08:00:40Z", [1]],
  ["createdAfter=2027-01-15T08:00:20.000Z&createdBefore=2027-01-15T08:00:20.001Z", [1]],
  ["createdAfter=2027-01-15T08:00:20.0000001Z&createdBefore=2027-01-15T08:00:40.0000001Z", [2]],
  ["createdAfter=2027-01-15T08:00:20Z&createdBefore=2027-01-15T08:00:20Z", []],
  ["createdAfter=2027-01-15T08:00:40Z&createdBefore=2027-01-15T08:00:20Z", []],
  ["createdAfter=9999-12-31T23:59:59.999999Z", []],
  ["createdBefore=0000-01-01T00:00:00Z", []],
  ["createdBefore=9999-12-31T23:59:59Z&limit=2", [1, 2]],
])("%s", async (query, ids) => {
  const list = (await expectJson(await call(`/v1/store/orders?${query}`, { key }), 200)) as Item[];
  expect(list.map(({ id }) => id)).toEqual(ids);
});

// Promise: orders-of-a-time
test.each([
  "2027-01-15",
  "2027-01-15T08:00:00",
  "2027-01-15T08:00:00%2B00:00",
  "2027-01-15T08:00:00+00:00",
  "2027-02-30T08:00:00Z",
  "1800000000",
  "now",
  "",
])("createdAfter=%s is no time in UTC", async (value) => {
  for (const name of ["createdAfter", "createdBefore"])
    expect(await expectError(await call(`/v1/store/orders?${name}=${value}`, { key }), "invalid_request")).toBe(
      `${name} has to be a time of RFC 3339 in UTC, such as 2026-11-22T09:30:00Z.`,
    );
});

// Promise: lists-are-complete
test("an animal that is added while somebody reads the newest first shifts no page", async () => {
  const first = await call("/v1/pets?limit=2&sort=-id", { key });
  const [newest, second] = await first.clone().json<Item[]>();
  await call("/v1/pets", { method: "POST", key, body: { name: "Late animal", categoryId: 999 } });
  const [next] = await (await call(nextPage(first) ?? "", { key })).json<Item[]>();
  expect(second?.id).toBe((newest?.id ?? 0) - 1);
  expect(next?.id).toBe((second?.id ?? 0) - 1);
});

describe.each(["/v1/pets", "/v1/categories", "/v1/store/orders"])("%s", (path) => {
  const cursorOf = (link: string | null) => /cursor=([\w-]{16})/.exec(link ?? "")?.[1];

  // Promise: lists-are-ordered
  test("a cursor belongs to the sort that it came with", async () => {
    const ascending = cursorOf((await call(`${path}?limit=1`, { key })).headers.get("Link"));
    const descending = cursorOf((await call(`${path}?limit=1&sort=-id`, { key })).headers.get("Link"));
    for (const query of [`cursor=${ascending}`, `cursor=${ascending}&sort=id`, `cursor=${descending}&sort=-id`]) {
      expect((await call(`${path}?${query}`, { key })).status, query).toBe(200);
    }
    for (const query of [`cursor=${ascending}&sort=-id`, `cursor=${descending}`, `cursor=${descending}&sort=id`]) {
      expect(await expectError(await call(`${path}?${query}`, { key }), "invalid_request")).toBe(
        "cursor has to be one that this service handed out in a Link header, with the same sort.",
      );
    }
  });

  test.each([
    ["sort=", "sort has to be one of id, -id."],
    ["sort=name", "sort has to be one of id, -id."],
    ["sort=ID", "sort has to be one of id, -id."],
    ["sort=%2Bid", "sort has to be one of id, -id."],
    ["include=", "include has to be version."],
    ["include=versions", "include has to be version."],
    ["include=version,version", "include has to be version."],
  ])("%s is refused", async (query, message) => {
    expect(await expectError(await call(`${path}?${query}`, { key }), "invalid_request")).toBe(message);
  });

  test("the link keeps sort and include", async () => {
    const { headers } = await call(`${path}?limit=1&include=version&sort=-id`, { key });
    const link = new URL(/^<([^>]+)>/.exec(headers.get("Link") ?? "")?.[1] ?? "");
    expect(Object.fromEntries(link.searchParams)).toEqual({
      limit: "1",
      include: "version",
      sort: "-id",
      cursor: expect.stringMatching(/^[\w-]{16}$/),
    });
  });
});
