// Every operation that changes a resource leaves an event of each change. An operation without one fails here.
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { eventsOf } from "../events/feed.ts";
import { call } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault, faultyDatabase } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

/** Tables that hold no resource. */
const OTHERS = ["d1_migrations", "events", "idempotency_keys"];
/** The first part of the type of an event. */
const RESOURCES: { [table: string]: string } = { pets: "pet", categories: "category", orders: "order" };

let key: string;
let tables: string[];
beforeAll(async () => {
  key = await grantKey();
  const { results } = await env.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{
    name: string;
  }>();
  tables = results.map(({ name }) => name).filter((name) => !/^(?:sqlite|_cf)_/.test(name) && !OTHERS.includes(name));
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  return () => vi.restoreAllMocks();
});

/** The resources of the examples in the document: each has the id 1, and each example changes one. The order is for another animal. */
beforeEach(async () => {
  await env.DB.batch(
    [
      ...tables.map((table) => `DELETE FROM ${table}`),
      "INSERT INTO pets (id, name, category_id, status) VALUES (1, 'Rex', 99, 'available'), (2, 'Max', 99, 'pending')",
      "INSERT INTO categories (id, name) VALUES (1, 'Dogs')",
      "INSERT INTO orders (id, pet_id, status, created_at) VALUES (1, 2, 'placed', '2026-11-22T08:30:00.000Z')",
    ].map((sql) => env.DB.prepare(sql)),
  );
});

interface Row {
  id: number;
  version: number;
}

/** The rows of every resource, by table and id. */
async function rows(): Promise<Map<string, Row>> {
  const found = new Map<string, Row>();
  for (const table of tables) {
    const { results } = await env.DB.prepare(`SELECT * FROM ${table}`).all<Row & Record<string, unknown>>();
    for (const row of results) found.set(`${RESOURCES[table] ?? table} ${row.id}`, row);
  }
  return found;
}

/** What the events of a change have to be: the resources that differ, with their new versions. A deletion has the next version. */
function changes(before: Map<string, Row>, after: Map<string, Row>): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .filter((name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name)))
    .map((name) => `${name} ${after.get(name)?.version ?? (before.get(name)?.version ?? 0) + 1}`)
    .toSorted();
}

describe.each(OPERATIONS.filter(({ method }) => method !== "GET"))("$name", ({ path, request }) => {
  /** Sends the request and compares the events with the rows that changed. */
  async function expectEvents(headers: Record<string, string>, ...faults: Fault[]) {
    const before = await rows();
    const { DB } = faultyDatabase(...faults);
    const { response, events } = await eventsOf(key, () => call(path, { ...request, key, headers, bindings: { DB } }));
    const expected = changes(before, await rows());
    const reported = events.map(({ type, version, data }) => {
      const [resource = ""] = type.split(".");
      return `${resource} ${(data as Row).id} ${version}`;
    });
    expect(reported.toSorted(), "the resources that changed, and the events").toEqual(expected);
    return { status: response.status, changed: expected.length };
  }

  test("leaves an event of each change, and none without a change", async () => {
    const { status, changed } = await expectEvents({});
    expect(status).toBeLessThan(300);
    expect(changed, "the request has to change something").toBeGreaterThan(0);
    await expectEvents({});
    await expectEvents({ "If-Match": '"99"' });
  });

  test("leaves none for a replay", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expect((await expectEvents(headers)).changed).toBeGreaterThan(0);
    expect((await expectEvents(headers)).changed).toBe(0);
  });

  test.each([TRANSIENT_ERRORS[0], LASTING_ERRORS[0]])("leaves all or none when D1 fails: %s", async (message = "") => {
    for (const headers of [{}, { "Idempotency-Key": crypto.randomUUID() }]) {
      for (const when of ["before", "after"] as const) {
        await expectEvents(headers, { when, message });
        await expectEvents(headers, undefined, { when, message });
      }
    }
  });
});

test("the operations that change something are found", () => {
  expect(OPERATIONS.filter(({ method }) => method !== "GET").length).toBeGreaterThanOrEqual(10);
});
