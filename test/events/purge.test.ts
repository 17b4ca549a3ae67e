import { createExecutionContext, createScheduledController, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { forgetOld, MAX_BATCHES } from "../../src/jobs/purge.ts";
import { BATCH_SIZE } from "../../src/db/purge.ts";
import worker from "../../src/index.ts";
import { call, expectError } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { manyRows } from "../support/many-rows.ts";
import { observedJobDatabase } from "../support/observed-d1.ts";
import { FEED, latest, page, since } from "./feed.ts";

/** The id of the newest event so far: those of a test come after it. */
let before: number;
beforeEach(async () => {
  await env.DB.batch([
    env.DB.prepare("DELETE FROM idempotency_keys"),
    env.DB.prepare("DELETE FROM events WHERE id < (SELECT max(id) FROM events)"),
    env.DB.prepare("UPDATE events SET created_at = '2020-01-01T00:00:00.000Z'"),
  ]);
  before = (await ids()).at(-1) ?? 0;
});

/** Adds an event of each age, in days, in this order. */
async function fill(...ages: number[]): Promise<void> {
  await env.DB.prepare(
    `INSERT INTO events (tag, type, version, data, created_at)
     SELECT random() & 4294967295, 'pet.deleted', 1, '{"id":1}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || value || ' days')
     FROM json_each(?) ORDER BY key`,
  )
    .bind(JSON.stringify(ages))
    .run();
}

const fillOld = (count: number) => fill(...Array.from({ length: count }, () => 30));

async function ids(): Promise<number[]> {
  const { results } = await env.DB.prepare("SELECT id FROM events ORDER BY id").all<{ id: number }>();
  return results.map(({ id }) => id);
}
/** Adds a number of idempotency keys of an age in seconds: 25 hours unless given. */
async function fillKeys(count: number, age = 90_000): Promise<void> {
  const insert = "INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, resource_id, created_at)";
  await manyRows(count, `${insert} SELECT 'old', i, '', 1, unixepoch() - ? FROM n`, age).run();
}

const finished = (count: number) => ({ count, finished: true });
const unfinished = (count: number) => ({ count, finished: false });

/** The places of the events of the test that are there, counted from 1. The event before the test has the place 0. */
const places = async () => (await ids()).map((id) => id - before);

const add = () => call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 1 } });

describe("events that are 20, 12, 8 and 0.1 days old", () => {
  beforeEach(() => fill(20, 12, 8, 0.1));

  test("keeps the newest that is too old, and what is newer", async () => {
    expect(await forgetOld(env.DB, "7")).toEqual({ keys: finished(0), events: finished(3) });
    expect(await places()).toEqual([3, 4]);
    expect(await forgetOld(env.DB, "7")).toEqual({ keys: finished(0), events: finished(0) });
  });

  test.each([
    ["30", [0, 1, 2, 3, 4]],
    ["15", [1, 2, 3, 4]],
    ["10", [2, 3, 4]],
    ["8.5", [2, 3, 4]],
    ["0.5", [3, 4]],
    ["0", [4]],
  ])("are kept for the days of EVENT_DAYS: %s", async (days, kept) => {
    await forgetOld(env.DB, days);
    expect(await places()).toEqual(kept);
  });

  test.each(["", " ", "seven", "7 days", "-7", "--7", "Infinity", "NaN", "1e99", "7; DELETE FROM events", "'", "7,5"])(
    "are all kept when EVENT_DAYS is %j",
    async (days) => {
      await forgetOld(env.DB, days);
      expect(await places()).toEqual([0, 1, 2, 3, 4]);
    },
  );

  test.each([undefined, null, true, {}])("are all kept when EVENT_DAYS is %o, and keys are removed", async (days) => {
    await fillKeys(BATCH_SIZE + 1);
    expect(await forgetOld(env.DB, days)).toEqual({ keys: finished(BATCH_SIZE + 1), events: finished(0) });
    expect(await places()).toEqual([0, 1, 2, 3, 4]);
  });

  test("may be kept for a number of days that is not text", async () => {
    await forgetOld(env.DB, 10);
    expect(await places()).toEqual([2, 3, 4]);
  });

  // Promise: events-stay, numbers-of-webhooks
  test("are removed by the scheduled job, for 7 days", async () => {
    const context = createExecutionContext();
    await worker.scheduled(createScheduledController(), env);
    await waitOnExecutionContext(context);
    expect(await places()).toEqual([3, 4]);
  });
});

describe("a consumer", () => {
  // Promise: events-stay
  test("that stands at the end stays valid, however old the last event is", async () => {
    await fill(400);
    const cursor = await latest(key);
    for (let i = 0; i < 3; i++) {
      await forgetOld(env.DB, "7");
      expect(await page(key, `cursor=${cursor}`)).toEqual({ events: [], cursor, more: false });
    }
    await add();
    await forgetOld(env.DB, "7");
    expect(await since(key, cursor)).toHaveLength(1);
  });

  // Promise: cursors-of-long-absences, events-stay
  test("that stands at the newest of the too old goes on, and one before it gets 410", async () => {
    await fill(20, 8);
    const { cursor: old } = await page(key, "limit=1");
    const cursor = await latest(key);
    await fill(0.1, 0.1);
    await forgetOld(env.DB, "7");
    expect(await since(key, cursor)).toHaveLength(2);
    await expectError(await call(`${FEED}?cursor=${old}`, { key }), "cursor_expired");
  });
});

// Promise: keys-are-kept-for-a-day
test("an idempotency key is forgotten after 24 hours, and not before", async () => {
  const DAY = 24 * 60 * 60;
  const retry = (name: string) =>
    call("/v1/pets", {
      method: "POST",
      key,
      body: { name: "Rex", categoryId: 1 },
      headers: { "Idempotency-Key": name },
    });
  for (const name of ["old", "young"]) await retry(name);
  await env.DB.exec(
    `UPDATE idempotency_keys SET created_at = unixepoch() - iif(idempotency_key = 'old', ${DAY + 1}, ${DAY - 60})`,
  );
  expect((await forgetOld(env.DB, "7")).keys).toEqual(finished(1));
  expect((await retry("young")).headers.get("Idempotency-Replayed")).toBe("true");
  expect((await retry("old")).headers.get("Idempotency-Replayed")).toBeNull();
});

// Promise: cursors-after-a-restore, ids-ascend
test("the table is never empty, and no id is used again", async () => {
  const used = new Set(await ids());
  for (let round = 0; round < 4; round++) {
    await fill(30, 20, 10);
    await forgetOld(env.DB, "7");
    await forgetOld(env.DB, "0");
    expect(await ids()).toHaveLength(1);
    await add();
    const fresh = (await ids()).at(-1) ?? 0;
    expect(used.has(fresh)).toBe(false);
    for (let id = 1; id <= fresh; id++) used.add(id);
  }
});

test("a clock that was set back removes nothing that is newer than the events before it", async () => {
  await fill(0.1, 0.1, 9, 0.1);
  await forgetOld(env.DB, "7");
  // The third says that it is old, so those before it are older.
  expect(await places()).toEqual([3, 4]);
});

describe("the statements", () => {
  test.each([1, BATCH_SIZE - 1, BATCH_SIZE, BATCH_SIZE + 1, 2 * BATCH_SIZE])(
    "remove all of %i old events but the newest, each a bounded number",
    async (count) => {
      await fillOld(count);
      await fill(0.1, 0.1);
      const { DB, statements } = observedJobDatabase();
      expect((await forgetOld(DB, "7")).events).toEqual(finished(count));
      expect(await places()).toEqual([count, count + 1, count + 2]);
      for (const { meta } of statements) {
        expect(meta.rows_written).toBeLessThanOrEqual(BATCH_SIZE);
        expect(meta.rows_read).toBeLessThanOrEqual(3 * BATCH_SIZE + 2);
      }
      expect(statements.filter(({ sql }) => sql.startsWith("delete from events"))).toHaveLength(
        Math.floor(count / BATCH_SIZE) + 1,
      );
    },
  );

  test("read a bounded number of rows when nothing is too old", async () => {
    await env.DB.exec("UPDATE events SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')");
    await fill(...Array.from({ length: 3 * BATCH_SIZE }, () => 1));
    await fillKeys(3 * BATCH_SIZE, 0);
    const { DB, statements } = observedJobDatabase();
    expect(await forgetOld(DB, "7")).toEqual({ keys: finished(0), events: finished(0) });
    expect(statements).toHaveLength(2);
    const [keys = Infinity, events = Infinity] = statements.map(({ meta }) => meta.rows_read);
    // A row for the list of the oldest ids, its copy, and the entry itself.
    expect(keys).toBeLessThanOrEqual(3 * BATCH_SIZE);
    expect(events).toBeLessThanOrEqual(BATCH_SIZE + 2);
  });

  test("take turns with those of the idempotency keys, which share their number", async () => {
    await fillOld(3 * BATCH_SIZE);
    await fillKeys(3 * BATCH_SIZE);
    const { DB, statements } = observedJobDatabase();
    expect(await forgetOld(DB, "7", 4)).toEqual({
      keys: unfinished(2 * BATCH_SIZE),
      events: unfinished(2 * BATCH_SIZE),
    });
    const tables = statements.map(({ sql }) => /delete from (\w+)/.exec(sql)?.[1]);
    expect(tables).toEqual(["idempotency_keys", "events", "idempotency_keys", "events"]);
    // The last statement of each finds nothing.
    expect(await forgetOld(DB, "7", 3)).toEqual({ keys: finished(BATCH_SIZE), events: unfinished(BATCH_SIZE) });
    expect(await forgetOld(DB, "7", 2)).toEqual({ keys: finished(0), events: finished(0) });
  });

  test.each([
    [4, unfinished(3 * BATCH_SIZE)],
    [5, finished(3 * BATCH_SIZE)],
  ])("leave their turns to the other table: %i of them", async (maxBatches, events) => {
    await fillOld(3 * BATCH_SIZE);
    await fillKeys(1);
    expect(await forgetOld(env.DB, "7", maxBatches)).toEqual({ keys: finished(1), events });
  });

  test("are as many as D1 allows in an invocation, at most", async () => {
    let statements = 0;
    const run = async () => {
      statements++;
      return { meta: { changes: BATCH_SIZE } };
    };
    const endless = { prepare: () => ({ bind: () => ({ run }) }) } as unknown as D1Database;
    expect(await forgetOld(endless, "7")).toEqual({ keys: unfinished(2_250_000), events: unfinished(2_250_000) });
    expect(statements).toBe(MAX_BATCHES);
    expect(statements).toBeLessThan(1_000);
  });
});
