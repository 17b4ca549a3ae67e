import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { createApp } from "../../src/app.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import { WINDOW } from "../../src/events/list-events.ts";
import type { EventPage } from "../../src/feed/event.ts";
import { call, expectError, ORIGIN } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { cursorAt, FEED, latest, page, since } from "./feed.ts";

/** SQL for the data of an event, whose id is its number. */
const DATA = `CASE
  WHEN type LIKE '%.deleted' THEN json_object('id', n)
  WHEN type LIKE 'pet.%' THEN json_object('id', n, 'name', 'Rex', 'categoryId', 1, 'status', 'sold')
  WHEN type LIKE 'category.%' THEN json_object('id', n, 'name', 'Dogs')
  ELSE json_object('id', n, 'petId', 1, 'quantity', 1, 'status', 'placed', 'createdAt', '2026-11-22T08:30:00.000Z',
    'shipDate', NULL, 'complete', json('false'))
END`;

/** Adds events with these data, from 1 on. `type` is SQL over `n`. */
async function fill(count: number, type: string): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
     INSERT INTO events (tag, type, version, data, created_at)
     SELECT random() & 4294967295, type, 1, ${DATA}, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
     FROM (SELECT n, ${type} AS type FROM numbers)`,
  )
    .bind(count)
    .run();
}
/** The feed as the migration leaves it. */
const empty = () => env.DB.exec("DELETE FROM events WHERE id > 1");
const numbers = (events: { data: object }[]) => events.map(({ data }) => (data as { id: number }).id);
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index);
const failure = (query: string, apiKey = key) => call(`${FEED}?${query}`, { key: apiKey });

beforeEach(empty);

test("a new feed has no event, and a place to go on from", async () => {
  for (const query of ["", "cursor=latest", "type=order.placed", "limit=1"]) {
    const { cursor, ...rest } = await page(key, query);
    expect(rest).toEqual({ events: [], more: false });
    expect(cursor).toMatch(/^[0-9a-f]{32}$/);
    expect(await page(key, `cursor=${cursor}`)).toEqual({ events: [], cursor, more: false });
  }
  const cursor = await latest(key);
  await fill(1, "'pet.created'");
  expect(numbers(await since(key, cursor))).toEqual([1]);
});

describe("a parameter that breaks its rule", () => {
  test.each([
    "cursor=",
    "cursor=LATEST",
    "cursor=x",
    `cursor=${cursorAt(1n, 1n).slice(1)}`,
    `cursor=${cursorAt(1n, 1n).slice(0, -1)}`,
    `cursor=${cursorAt(1n, 1n)}0`,
    `cursor=${"0".repeat(32)}`,
    `cursor=${cursorAt(1n, 0xa_bc_de_fan).toUpperCase()}`,
    // A cursor of a list.
    "cursor=AAAAAAAAAAHlQ-yR",
    "cursor=1",
    "cursor=evt_00000000000000025d41402a",
  ])("%s", async (query) => {
    expect(await expectError(await failure(query), "invalid_request")).toMatch(
      /^cursor has to be latest, or one that this service handed out for events\.$/,
    );
  });

  test("one wrong digit anywhere in a cursor", async () => {
    const cursor = await latest(key);
    for (let index = 0; index < cursor.length; index++) {
      const digit = cursor[index] === "0" ? "1" : "0";
      const wrong = cursor.slice(0, index) + digit + cursor.slice(index + 1);
      await expectError(await failure(`cursor=${wrong}`), "invalid_request");
    }
  });

  test.each([
    "",
    "x",
    "pet",
    "pet.",
    "pet.*",
    "Pet.created",
    "category.shipped",
    "feed.started",
    "pet.created&type=x",
    "x&type=pet.created",
    Array.from({ length: 101 }, () => "pet.created").join("&type="),
  ])("type=%s", async (types) => {
    const message = await expectError(await failure(`type=${types}`), "invalid_request");
    expect(message).toMatch(/^type has to be 1 to 100 of pet\.created, .*order\.updated\.$/);
  });
});

describe("the scopes of the key", () => {
  const PETS = EVENT_TYPES.filter((type) => !type.startsWith("order."));
  const ORDERS = EVENT_TYPES.filter((type) => type.startsWith("order."));
  const KEYS = [
    { scopes: ["events:read", "pets:read"] as const, readable: PETS },
    { scopes: ["events:read", "store:read"] as const, readable: ORDERS },
    { scopes: ["events:read", "pets:read", "store:read"] as const, readable: EVENT_TYPES },
  ];
  beforeEach(() =>
    fill(50, `json_extract('${JSON.stringify(EVENT_TYPES)}', '$[' || (n % ${EVENT_TYPES.length}) || ']')`),
  );

  test("types of a later version are shown with their resource, unless the request names types", async () => {
    await empty();
    for (const type of ["pet.found", "order.refunded", "toy.created", "orders", "order"]) await fill(1, `'${type}'`);
    const app = createApp();
    const typesOf = async (apiKey: string, query = "") => {
      const headers = { Authorization: `Bearer ${apiKey}` };
      // Not `call`: the document of this version does not have them.
      const response = await app.fetch(
        new Request(`${ORIGIN}${FEED}?${query}`, { headers }),
        env,
        createExecutionContext(),
      );
      return (await response.json<EventPage>()).events.map(({ type }) => type);
    };
    expect(await typesOf(key)).toEqual(["pet.found", "order.refunded"]);
    expect(await typesOf(await grantKey({ scopes: ["events:read", "store:read"] }))).toEqual(["order.refunded"]);
    expect(await typesOf(key, EVENT_TYPES.map((type) => `type=${type}`).join("&"))).toEqual([]);
  });

  test("the types are these", () => {
    expect(PETS).toEqual([
      "pet.created",
      "pet.updated",
      "pet.deleted",
      "category.created",
      "category.updated",
      "category.deleted",
    ]);
    expect(ORDERS).toEqual(["order.placed", "order.shipped", "order.cancelled", "order.updated"]);
  });

  // Promise: follow-types, types-without-scopes
  test.each(KEYS)("$scopes shows the types whose resource it may read", async ({ scopes, readable }) => {
    const limited = await grantKey({ scopes: [...scopes] });
    const first = await page(key, "limit=1");
    for (const events of [
      (await page(limited)).events,
      (await page(limited, "limit=100")).events,
      [
        ...(await page(limited, "limit=1")).events,
        ...(await since(limited, (await page(limited, "limit=1")).cursor, "limit=1")),
      ],
    ]) {
      const all = [...first.events, ...(await since(key, first.cursor))];
      expect(events).toEqual(all.filter(({ type }) => readable.includes(type)));
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(readable));
    }
  });

  // Promise: follow-types, types-need-scopes
  test.each(KEYS)("$scopes may name these types and no others", async ({ scopes, readable }) => {
    const limited = await grantKey({ scopes: [...scopes] });
    for (const type of EVENT_TYPES) {
      const response = await failure(`type=${type}`, limited);
      if (readable.includes(type)) expect(response.status).toBe(200);
      else await expectRefusal(response, type.startsWith("order.") ? "store:read" : "pets:read");
    }
  });

  async function expectRefusal(response: Response, scope: string): Promise<void> {
    await expectError(response, "insufficient_scope");
    expect(response.headers.get("WWW-Authenticate")).toBe(
      `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    );
  }

  // Promise: types-need-scopes
  test("one named type that the key may not read refuses the request, whichever else it names", async () => {
    const limited = await grantKey({ scopes: ["events:read", "pets:read"] });
    await expectRefusal(await failure("type=pet.created&type=order.placed", limited), "store:read");
    await expectRefusal(await failure("type=order.placed&type=pet.created", limited), "store:read");
  });

  test("a key that may read no resource is refused", async () => {
    for (const scopes of [["events:read"], ["events:read", "pets:write", "store:write"]] as const) {
      const limited = await grantKey({ scopes: [...scopes] });
      for (const query of ["", "cursor=latest", "type=pet.created"]) {
        await expectRefusal(await failure(query, limited), "pets:read");
      }
      await expectRefusal(await failure("type=order.placed", limited), "store:read");
    }
  });

  test("an unknown type is refused before the scopes of the types are checked", async () => {
    for (const scopes of [["events:read"], ["events:read", "pets:read"]] as const) {
      const limited = await grantKey({ scopes: [...scopes] });
      await expectError(await failure("type=pet.sold", limited), "invalid_request");
      await expectError(await failure("type=order.placed&type=pet.sold", limited), "invalid_request");
      await expectError(await failure("type=order.placed&limit=0", limited), "invalid_request");
    }
  });

  test("a cursor of one key serves another key, which sees its own types", async () => {
    const limited = await grantKey({ scopes: ["events:read", "store:read"] });
    const { cursor } = await page(await grantKey({ scopes: ["events:read", "pets:read"] }), "limit=3");
    const events = await since(limited, cursor);
    expect(events).toEqual((await since(key, cursor)).filter(({ type }) => ORDERS.includes(type)));
    expect(events.length).toBeGreaterThan(3);
  });
});

describe("pages", () => {
  // Promise: cursors-go-on, feed-is-in-order, pages-of-the-feed
  test.each([
    [1, 3],
    [2, 4],
    [2, 5],
    [3, 9],
    [99, 199],
    [100, 200],
    [100, 201],
  ])("of %i events are the feed of %i, once and in order, and tell whether more follow", async (limit, total) => {
    await fill(total, "'pet.created'");
    let { events, cursor, more } = await page(key, `limit=${limit}`);
    const found = numbers(events);
    expect(found).toEqual(upTo(limit));
    while (more) {
      ({ events, cursor, more } = await page(key, `limit=${limit}&cursor=${cursor}`));
      expect(events.length).toBe(Math.min(limit, total - found.length));
      found.push(...numbers(events));
      expect(more).toBe(found.length < total);
    }
    expect(found).toEqual(upTo(total));
    expect(cursor).toBe(await latest(key));
  });

  test("have a hundred events unless a limit is given", async () => {
    await fill(101, "'pet.created'");
    const { events, more } = await page(key);
    expect([numbers(events), more]).toEqual([upTo(100), true]);
  });
});

describe("some types", () => {
  test("are what a request names, in the order of the feed, also when it names one 99 times", async () => {
    await fill(30, "iif(n % 5 = 0, 'order.placed', iif(n % 3 = 0, 'pet.deleted', 'pet.created'))");
    const { events, more } = await page(key, `type=pet.deleted${"&type=order.placed".repeat(99)}`);
    expect([numbers(events), more]).toEqual([[3, 5, 6, 9, 10, 12, 15, 18, 20, 21, 24, 25, 27, 30], false]);
  });

  // The row of the cursor and the first row of the feed are in the window as well.
  // Promise: pages-without-events, windows-of-the-feed
  test.each([-3, -2, -1, 0, 1, 2, 3, 4].map((distance) => WINDOW + distance))(
    "are found when they come after %i others, and the page in between is empty and has more",
    async (others) => {
      const start = await latest(key);
      await fill(others + 2, `iif(n > ${others}, 'order.placed', 'pet.created')`);
      for (const from of ["", `cursor=${start}`]) {
        for (const limit of [1, 100]) {
          const query = `type=order.placed&limit=${limit}`;
          const first = await page(key, `${query}&${from}`);
          const rest = await since(key, first.cursor, query);
          expect(numbers([...first.events, ...rest]), query).toEqual([others + 1, others + 2]);
          if (first.events.length === 0) expect(first.more).toBe(true);
        }
      }
    },
  );

  // Promise: windows-of-the-feed
  test("that are rare cost a window of rows", async () => {
    await fill(3 * WINDOW, "'pet.created'");
    const nine = Array.from(EVENT_TYPES, () => "type=order.placed").join("&");
    for (const query of ["type=order.placed", nine, "limit=1&type=order.placed"]) {
      const { statements, DB } = observedDatabase();
      const first = await page(key, query, { bindings: { DB } });
      expect([first.events, first.more]).toEqual([[], true]);
      expect(statements.map(({ meta }) => meta?.rows_read)).toEqual([
        expect.toSatisfy((rows: number) => rows <= WINDOW + 10),
      ]);
      const { cursor } = await page(key, `cursor=${first.cursor}&${query}`);
      const last = await page(key, `cursor=${cursor}&${query}`);
      expect(last).toEqual({ events: [], cursor: await latest(key), more: false });
    }
  });

  // Promise: windows-of-the-feed
  test("that are many cost no more than a page without them", async () => {
    await fill(3 * WINDOW, "'pet.created'");
    const { cursor } = await page(key, "limit=5");
    for (const query of ["limit=10", "limit=10&type=pet.created", `limit=10&type=pet.created&cursor=${cursor}`]) {
      const { statements, DB } = observedDatabase();
      const { events, more } = await page(key, query, { bindings: { DB } });
      expect([events.length, more]).toEqual([10, true]);
      expect(statements.map(({ meta }) => meta?.rows_read)).toEqual([expect.toSatisfy((rows: number) => rows <= 20)]);
    }
  });
});
