// Every operation that changes a resource leaves an event of each change. An operation without one fails here.
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Call, call } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault, faultyDatabase } from "../support/faulty-d1.ts";
import { key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

/** Tables that hold no resource. */
const OTHERS = ["d1_migrations", "events", "idempotency_keys", "webhooks"];
/** The first part of the type of an event. */
const RESOURCES: { [table: string]: string } = { pets: "pet", categories: "category", orders: "order" };

let tables: string[];
beforeAll(async () => {
  const { results } = await env.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{
    name: string;
  }>();
  tables = results.map(({ name }) => name).filter((name) => !/^(?:sqlite|_cf)_/.test(name) && !OTHERS.includes(name));
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  return () => vi.restoreAllMocks();
});

/** The resources of the examples in the document: each example changes one. The orders are for other animals. */
beforeEach(async () => {
  await env.DB.batch(
    [
      ...[...tables, "events"].map((table) => `DELETE FROM ${table}`),
      "INSERT INTO pets (id, name, category_id, status) VALUES (1, 'Rex', 99, 'available'), (2, 'Max', 99, 'available')",
      "INSERT INTO pets (id, name, category_id, status) VALUES (3, 'Cleo', 99, 'pending'), (4, 'Dot', 99, 'pending')",
      "INSERT INTO categories (id, name) VALUES (1, 'Dogs'), (5, 'Cats')",
      "INSERT INTO orders (pet_id, id, status, created_at) SELECT id, id - 2, 'placed', '2026-11-22T08:30:00.000Z' FROM pets WHERE id > 2",
    ].map((sql) => env.DB.prepare(sql)),
  );
});

interface Row {
  id: number;
  version: number;
}

interface Change {
  type: string;
  version: number;
  data: string;
}

/** The rows of every resource, by table and id, and the events. */
async function snapshot() {
  const rows = new Map<string, Row>();
  const [{ results: events } = { results: [] }, ...resources] = await env.DB.batch(
    ["SELECT type, version, data FROM events ORDER BY id", ...tables.map((table) => `SELECT * FROM ${table}`)].map(
      (sql) => env.DB.prepare(sql),
    ),
  );
  for (const [index, table] of tables.entries()) {
    for (const row of (resources[index]?.results ?? []) as Row[])
      rows.set(`${RESOURCES[table] ?? table} ${row.id}`, row);
  }
  return { rows, events: events as Change[] };
}

/** What the events of a change have to be: the resources that differ, with their new versions. A deletion has the next version. */
function changes(before: Map<string, Row>, after: Map<string, Row>): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .filter((name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name)))
    .map((name) => `${name} ${after.get(name)?.version ?? (before.get(name)?.version ?? 0) + 1}`)
    .toSorted();
}

/** States in which an operation is refused or changes nothing, after those of `beforeEach`. */
const STATES: [state: string, ...statements: string[]][] = [
  ["without resources", "DELETE FROM orders", "DELETE FROM pets", "DELETE FROM categories"],
  ["with an order of the animal", "UPDATE orders SET pet_id = id"],
  ["with a cancelled order", "UPDATE orders SET status = 'cancelled'"],
  ["with a shipped order", "UPDATE orders SET status = 'shipped', ship_date = created_at"],
  ["with an animal of the category", "UPDATE pets SET category_id = iif(id = 1, 1, 5)"],
];

// The feed has no events of webhooks. A token is stored nowhere.
const CHANGES = OPERATIONS.filter(
  ({ method, template, name }) => method !== "GET" && !template.startsWith("/v1/webhooks") && name !== "createToken",
);
describe.each(CHANGES)("$name", ({ path, request, template }) => {
  /** Sends the request and compares the events with the rows that changed. */
  async function expectEvents(headers: Record<string, string>, ...faults: Fault[]) {
    return expectEventsOf({ ...request, headers, bindings: { DB: faultyDatabase(...faults).DB } });
  }
  async function expectEventsOf(sent: Call) {
    const before = await snapshot();
    const { status } = await call(path, { ...sent, key });
    const after = await snapshot();
    const expected = changes(before.rows, after.rows);
    const reported = after.events.slice(before.events.length).map(({ type, version, data }) => {
      const [resource = ""] = type.split(".");
      return `${resource} ${JSON.parse(data).id} ${version}`;
    });
    expect(reported.toSorted(), "the resources that changed, and the events").toEqual(expected);
    return { status, changed: expected.length };
  }

  // Promise: feed-and-changes-agree, no-change-no-event
  test("leaves an event of each change, and none without a change", async () => {
    if (template.endsWith("}")) {
      for (const precondition of [{ "If-Match": '"99"' }, { "If-None-Match": "*" }]) {
        expect(await expectEvents(precondition)).toEqual({ status: 412, changed: 0 });
      }
    }
    const { status, changed } = await expectEvents({});
    expect(status).toBeLessThan(300);
    expect(changed, "the request has to change something").toBeGreaterThan(0);
    await expectEvents({});
    if (request.method === "PATCH") expect((await expectEventsOf({ ...request, body: {} })).changed).toBe(0);
  });

  // Promise: feed-and-changes-agree, no-change-no-event
  test.each(STATES)("leaves an event of each change, and none of a refusal, %s", async (_, ...statements) => {
    await env.DB.batch(statements.map((sql) => env.DB.prepare(sql)));
    for (const precondition of [{ "If-Match": '"99"' }, { "If-None-Match": "*" }, {}]) {
      await expectEvents(precondition);
    }
    await expectEvents({ "Idempotency-Key": crypto.randomUUID() });
  });

  // Promise: feed-and-changes-agree, no-change-no-event
  test("leaves none for a replay", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expect((await expectEvents(headers)).changed).toBeGreaterThan(0);
    expect((await expectEvents(headers)).changed).toBe(0);
  });

  // Promise: feed-and-changes-agree
  test("leaves all or none when D1 fails", async () => {
    const [transient = "", lasting = ""] = [TRANSIENT_ERRORS[0], LASTING_ERRORS[0]];
    for (const when of ["before", "after"] as const) {
      await expectEvents({}, { when, message: lasting });
      await expectEvents({}, undefined, { when, message: lasting });
      await expectEvents({}, { when, message: transient });
      await expectEvents({ "Idempotency-Key": crypto.randomUUID() }, { when, message: transient });
    }
  });
});

test("the operations that change something are found", () => {
  expect(OPERATIONS.filter(({ method }) => method !== "GET").length).toBeGreaterThanOrEqual(10);
});
