// Every operation that changes a resource leaves an event of each change. An operation without one fails here.
import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Call, call } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault, observedDatabase } from "../support/observed-d1.ts";
import { key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

/** Tables that hold no resource. */
const OTHERS = ["d1_migrations", "events", "idempotency_keys", "inventory", "live_hubs", "search_index", "webhooks"];
/** The tables of resources, in the order in which a change leaves its events, with the first part of their types and their paths. */
const RESOURCES = [
  ["orders", "order", "/v1/store/orders"],
  ["pets", "pet", "/v1/pets"],
  ["categories", "category", "/v1/categories"],
] as const;
const tables = RESOURCES.map(([table]) => table);

beforeAll(async () => {
  const { results } = await env.DB.prepare("SELECT name FROM pragma_table_list WHERE type = 'table'").all<{
    name: string;
  }>();
  const names = results.map(({ name }) => name).filter((name) => !/^(?:sqlite|_cf)_/.test(name));
  expect(new Set(names)).toEqual(new Set([...OTHERS, ...tables]));
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
  status?: string;
}
type Rows = Map<number, Row>[];

interface Change {
  type: string;
  version: number;
  /** As JSON. */
  data: string;
}

/** The rows of every resource by id, and the events. */
async function snapshot(): Promise<{ rows: Rows; events: Change[] }> {
  const [events, ...resources] = await env.DB.batch(
    [
      "SELECT type, version, data FROM events ORDER BY id",
      ...tables.map((one) => `SELECT * FROM ${one} ORDER BY id`),
    ].map((sql) => env.DB.prepare(sql)),
  );
  const rows = resources.map(({ results }) => new Map((results as unknown as Row[]).map((row) => [row.id, row])));
  return { rows, events: (events?.results ?? []) as unknown as Change[] };
}

/** What happened to a resource. An order is placed, shipped, cancelled or updated. */
function verbOf(resource: string, before: Row | undefined, after: Row | undefined): string {
  if (after === undefined) return "deleted";
  if (resource === "order" && before?.status !== after.status) return after.status ?? "";
  return before === undefined ? "created" : "updated";
}

/** The events that a change has to leave: of the resources that differ, with their new versions and bodies. A deletion has the next version. */
async function expectedOf(before: Rows, after: Rows): Promise<Change[]> {
  const expected: Change[] = [];
  for (const [index, [, resource, path]] of RESOURCES.entries()) {
    for (const id of new Set([before, after].flatMap((rows) => [...(rows[index]?.keys() ?? [])]))) {
      const [was, is] = [before[index]?.get(id), after[index]?.get(id)];
      if (JSON.stringify(was) === JSON.stringify(is)) continue;
      const data = is === undefined ? `{"id":${id}}` : await (await call(`${path}/${id}`, { key })).text();
      const version = is?.version ?? (was?.version ?? 0) + 1;
      expected.push({ type: `${resource}.${verbOf(resource, was, is)}`, version, data });
    }
  }
  return expected;
}

/** States in which an operation is refused or changes nothing, after those of `beforeEach`. */
const STATES: [state: string, ...statements: string[]][] = [
  ["without resources", "DELETE FROM orders", "DELETE FROM pets", "DELETE FROM categories"],
  ["with an order of the animal", "UPDATE orders SET pet_id = id"],
  ["with a cancelled order", "UPDATE orders SET status = 'cancelled'"],
  ["with a cancelled order of the animal", "UPDATE orders SET status = 'cancelled', pet_id = id"],
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
    return expectEventsOf({ ...request, headers, bindings: { DB: observedDatabase(...faults).DB } });
  }
  async function expectEventsOf(sent: Call) {
    const before = await snapshot();
    const { status } = await call(path, { ...sent, key });
    const after = await snapshot();
    const expected = await expectedOf(before.rows, after.rows);
    expect(after.events.slice(before.events.length), "the events of what changed").toEqual(expected);
    return { status, changed: expected.length };
  }

  // Promise: events-have-versions, feed-and-changes-agree, no-change-no-event, two-events-of-an-order
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
