import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import startFeed from "../../ops/start-feed.sql?raw";
import { decodeEventCursor } from "../../src/feed/place.ts";
import { call, expectError } from "../support/client.ts";
import { LASTING_ERRORS } from "../support/d1-errors.ts";
import { grantKey, key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { cursorAt, FEED, latest, page, since } from "./feed.ts";
import { prepareHistory, record, replicaAt, restoration, startHistory } from "./replicas.ts";

const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

beforeAll(async () => {
  await prepareHistory();
});
beforeEach(startHistory);

const add = () => call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 1 } });
const at = (cursor: string, bindings: Partial<Env> = {}, headers: Record<string, string> = {}) =>
  call(`${FEED}?cursor=${cursor}`, { key, bindings, headers });

async function expectExpired(cursor: string): Promise<void> {
  const response = await at(cursor);
  const message = await expectError(response, "cursor_expired");
  expect(response.status).toBe(410);
  // How to start again, in this order.
  expect(message).toMatch(/cursor=latest.*bookmark.*empty copy.*go on from the new cursor.*version is higher/);
  expect(response.headers.get("x-d1-bookmark")).toMatch(BOOKMARK);
}
const placeOf = (cursor: string): [id: bigint, tag: bigint] => {
  const { text = "" } = decodeEventCursor(cursor) ?? {};
  return [BigInt(`0x${text.slice(0, 16)}`), BigInt(`0x${text.slice(16)}`)];
};

describe("410 for a place that the feed never had", () => {
  test("with the id of an event and another tag", async () => {
    await add();
    const [id, tag] = placeOf(await latest(key));
    expect((await at(cursorAt(id, tag))).status).toBe(200);
    for (const other of [tag ^ 1n, tag ^ 0x80_00_00_00n, 0n, 0xff_ff_ff_ffn]) await expectExpired(cursorAt(id, other));
  });

  test("with the tag of an event and another id", async () => {
    await add();
    const [id, tag] = placeOf(await latest(key));
    for (const other of [id + 1n, id - 1n, 0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)])
      await expectExpired(cursorAt(other, tag));
  });

  test("also for HEAD, and for every filter and limit", async () => {
    const cursor = cursorAt(99n, 1n);
    expect((await call(`${FEED}?cursor=${cursor}`, { method: "HEAD", key })).status).toBe(410);
    for (const query of ["limit=1", "type=pet.created", "type=order.placed&limit=100"]) {
      await expectError(await call(`${FEED}?cursor=${cursor}&${query}`, { key }), "cursor_expired");
    }
  });

  test("after the scopes: a key that may read none learns nothing of a place", async () => {
    const limited = await grantKey({ scopes: ["events:read"] });
    const response = await call(`${FEED}?cursor=${cursorAt(99n, 1n)}`, { key: limited });
    await expectError(response, "insufficient_scope");
  });
});

describe("a restore of the database", () => {
  // Promise: cursors-after-a-restore, cursors-before-a-restore
  test("gives 410 to who had read further, also when the same ids were written again, and the others go on", async () => {
    const start = await latest(key);
    await add();
    const behind = await latest(key);
    await add();
    const there = await latest(key);
    await record(1);
    for (let i = 0; i < 3; i++) await add();
    const [lost, past] = [await since(key, there), await latest(key)];
    expect(lost).toHaveLength(3);
    const inside = (await page(key, `cursor=${there}&limit=1`)).cursor;

    await env.DB.batch(restoration(1));
    for (const cursor of [inside, past]) await expectExpired(cursor);
    expect(await page(key, `cursor=${there}`)).toEqual({ events: [], cursor: there, more: false });
    expect(await since(key, behind)).toHaveLength(1);

    for (let i = 0; i < 5; i++) await add();
    for (const cursor of [inside, past]) await expectExpired(cursor);
    expect(placeOf(await latest(key))[0]).toBe(placeOf(past)[0] + 2n);
    expect(await since(key, there)).toHaveLength(5);
    const history = await since(key, start);
    expect(history).toHaveLength(7);
    const ids = new Set([...lost, ...history].map(({ id }) => id));
    expect(ids.size).toBe(10);
  });
});

// Promise: cursors-of-a-new-feed
test("an operator who starts the feed anew expires every cursor", async () => {
  await add();
  await add();
  const cursors = [(await page(key, "limit=1")).cursor, await latest(key)];
  const statements = startFeed.replaceAll(/^--.*/gm, "").split(";").slice(0, -1);
  await env.DB.batch(statements.map((statement) => env.DB.prepare(statement)));
  for (const cursor of cursors) await expectExpired(cursor);
  const end = await latest(key);
  await add();
  expect(await since(key, end)).toHaveLength(1);
});

describe("a replica that lags", () => {
  /** Adds three events in one commit each, and returns the cursors before, between and after them. */
  async function threeCommits(): Promise<string[]> {
    const cursors = [await latest(key)];
    await record(0);
    for (let commit = 1; commit <= 3; commit++) {
      await add();
      cursors.push(await latest(key));
      await record(commit);
    }
    return cursors;
  }

  test("that has not seen the place yet: the primary is asked, and responds", async () => {
    const cursors = await threeCommits();
    for (const commit of [0, 1]) {
      const { DB, starts } = replicaAt(commit);
      const { events, cursor, more } = await page(key, `cursor=${cursors[2]}`, { bindings: { DB } });
      expect([events.length, cursor, more]).toEqual([1, cursors[3], false]);
      expect(starts).toEqual(["first-unconstrained", "first-primary"]);
    }
  });

  test("that has the place: it responds with what it has, and the rest comes later", async () => {
    const cursors = await threeCommits();
    const { DB, starts } = replicaAt(2);
    const { events, cursor, more } = await page(key, `cursor=${cursors[1]}`, { bindings: { DB } });
    expect([events.length, cursor, more]).toEqual([1, cursors[2], false]);
    expect(starts).toEqual(["first-unconstrained"]);
    expect(await since(key, cursor)).toEqual(await since(key, cursors[2] ?? ""));
  });

  test("gives a latest that is older, from which nothing is skipped", async () => {
    const cursors = await threeCommits();
    const { DB } = replicaAt(1);
    const { cursor } = await page(key, "cursor=latest", { bindings: { DB } });
    expect(cursor).toBe(cursors[1]);
    expect(await since(key, cursor)).toHaveLength(2);
  });

  test("that still has a place that the purge removed: it goes on", async () => {
    const cursors = await threeCommits();
    await env.DB.exec("DELETE FROM events WHERE id <= (SELECT max(id) - 1 FROM events)");
    await expectExpired(cursors[1] ?? "");
    const { DB, starts } = replicaAt(3);
    const { events } = await page(key, `cursor=${cursors[1]}`, { bindings: { DB } });
    expect([events.length, starts.length]).toEqual([2, 1]);
  });

  // Promise: 410-comes-from-the-primary
  test("says 410 only after the primary", async () => {
    await threeCommits();
    const [id, tag] = placeOf(await latest(key));
    for (const cursor of [cursorAt(id, tag ^ 1n), cursorAt(id + 1n, tag)]) {
      const { DB, starts } = replicaAt(2);
      await expectError(await at(cursor, { DB }), "cursor_expired");
      expect(starts).toEqual(["first-unconstrained", "first-primary"]);
    }
  });

  test("is asked with the bookmark of the request", async () => {
    const cursors = await threeCommits();
    const bookmark = (await at(cursors[0] ?? "")).headers.get("x-d1-bookmark") ?? "";
    const { DB, starts } = replicaAt(0);
    expect((await at(cursors[3] ?? "", { DB }, { "x-d1-bookmark": bookmark })).status).toBe(200);
    expect(starts).toEqual([bookmark, "first-primary"]);
  });

  test("is no reason for 410 when the primary cannot respond", async () => {
    const cursors = await threeCommits();
    const replica = replicaAt(0);
    const { DB: broken } = observedDatabase({ when: "before", message: LASTING_ERRORS[0] ?? "" });
    const withSession = (start: string) => (start === "first-primary" ? broken : replica.DB).withSession(start);
    const response = await at(cursors[3] ?? "", { DB: { withSession } as unknown as D1Database });
    await expectError(response, "service_unavailable");
  });

  test("the primary itself is asked once", async () => {
    const { DB, starts } = observedDatabase();
    const onPrimary = { DB, READS: "primary" } as unknown as Partial<Env>;
    await expectError(await at(cursorAt(99n, 1n), onPrimary), "cursor_expired");
    expect(starts).toEqual(["first-primary"]);
  });
});
