import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { patchRows } from "../../src/changes/patch.ts";
import { Session } from "../../src/db/session.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { invalid } from "../../src/http/validation.ts";
import { petChanges } from "../../src/pets/update-pets.ts";
import { patchOfCategories } from "../changes/statements.ts";
import { eventsOf, known } from "../events/feed.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { EXACT, expectExact } from "./exact.ts";

interface Animal {
  id: number;
  name: string;
  categoryId: number;
  status: string;
}
interface Change extends Partial<Animal> {
  id: number;
  version?: number;
}

const BATCH = "/v1/pets/batch";
const REX = { name: "Rex", categoryId: 7 };
const KEYS = [
  ["with an Idempotency-Key", () => ({ "Idempotency-Key": crypto.randomUUID() })],
  ["without one", () => ({})],
] as const;

let ids: number[];
beforeEach(async () => {
  const created = await call(BATCH, { method: "POST", key, body: Array.from({ length: 100 }, () => REX) });
  ids = (await created.json<Animal[]>()).map(({ id }) => id);
});

const update = (body: object | string, headers: Record<string, string> = {}, bindings: Partial<Env> = {}) =>
  call(BATCH, { method: "PATCH", key, body, headers, bindings });
const idAt = (place: number) => ids[place] ?? expect.unreachable();
const order = (place: number) => call("/v1/store/orders", { method: "POST", key, body: { petId: idAt(place) } });
const stored = async () =>
  (await env.DB.prepare("SELECT * FROM pets ORDER BY id").all<Record<string, string | number>>()).results;

/** Sends a batch that is refused, with all places of its message, and asserts that it changes nothing. */
async function expectRefusal(code: Parameters<typeof expectError>[1], places: number[], body: Change[]): Promise<void> {
  for (const [, headers] of KEYS) {
    const before = await stored();
    const { response, events } = await eventsOf(key, () => update(body, headers()));
    expect(await expectError(response, code)).toMatch(new RegExp(`^${places.join(", ")}: `));
    expect(events).toEqual([]);
    expect(await stored()).toEqual(before);
  }
}

describe.each(KEYS)("a batch %s", (_, header) => {
  // Promise: events-of-a-batch
  test.each([1, 2, 100])("changes %i animals, in any order, with an event each in the order of ids", async (count) => {
    const changes = ids
      .slice(0, count)
      .toReversed()
      .map((id, index) => ({ id, name: `Animal ${index}`, version: 1 }));
    const { response, events } = await eventsOf(key, () => update(changes, header()));
    const changed = changes.map(({ id, name }) => ({ id, name, categoryId: 7, status: "available" }));
    expect(await expectJson(response, 200)).toEqual(changed.map((animal) => ({ ...animal, version: 2 })));
    for (const name of ["Location", "ETag", "Idempotency-Replayed"]) expect(response.headers.get(name)).toBeNull();
    expect(response.headers.get("x-d1-bookmark")).not.toBeNull();
    expect(events.map(known)).toEqual(changed.toReversed().map((animal) => ["pet.updated", 2, animal]));
    for (const animal of [changed[0], changed.at(-1)]) {
      const found = await call(`/v1/pets/${animal?.id}`, { key });
      expect(await found.json()).toEqual(animal);
      expect(found.headers.get("ETag")).toBe('"2"');
    }
  });

  // Promise: batches-of-changes-are-whole, update-many-versions
  test("changes only the fields that each item names, and leaves what an item does not change as it is", async () => {
    const before = await stored();
    const changes: Change[] = [
      { id: idAt(5), status: "sold" },
      { id: idAt(3), name: "Max" },
      { id: idAt(4), name: "Rex", categoryId: 7, status: "available", version: 1 },
      { id: idAt(1), categoryId: -3, name: "Bo" },
      { id: idAt(2) },
    ];
    const { response, events } = await eventsOf(key, () => update(changes, header()));
    const rex = (place: number, fields: object) => ({ id: idAt(place), ...REX, status: "available", ...fields });
    expect(await expectJson(response, 200)).toEqual([
      rex(5, { status: "sold", version: 2 }),
      rex(3, { name: "Max", version: 2 }),
      rex(4, { version: 1 }),
      rex(1, { name: "Bo", categoryId: -3, version: 2 }),
      rex(2, { version: 1 }),
    ]);
    expect(events.map(known)).toEqual([
      ["pet.updated", 2, rex(1, { name: "Bo", categoryId: -3 })],
      ["pet.updated", 2, rex(3, { name: "Max" })],
      ["pet.updated", 2, rex(5, { status: "sold" })],
    ]);
    const touched = [1, 3, 5].map(idAt);
    const others = (rows: Record<string, unknown>[]) => rows.filter(({ id }) => !touched.includes(Number(id)));
    expect(others(await stored())).toEqual(others(before));
  });

  test.each<[string, (id: number) => Partial<Change>]>([
    ["no fields", () => ({})],
    ["the present values", () => ({ name: "Rex", categoryId: 7, status: "available", version: 1 })],
  ])("of %s changes nothing", async (_name, fields) => {
    const before = await stored();
    const { response, events } = await eventsOf(key, () =>
      update(
        ids.map((id) => ({ ...fields(id), id })),
        header(),
      ),
    );
    expect(await expectJson(response, 200)).toEqual(ids.map((id) => ({ id, ...REX, status: "available", version: 1 })));
    expect(events).toEqual([]);
    expect(await stored()).toEqual(before);
  });

  test("is exact, to the last digit and byte", async () => {
    const changes = EXACT.map(({ sent }, place) => `{"id":${idAt(place)}.0,${sent}}`);
    const { response, events } = await eventsOf(key, () => update(`[${changes.join()}]`, header()));
    const singles = expectExact(await response.text(), () => '"status":"available","version":2}');
    expect(events).toHaveLength(EXACT.length);
    for (const [place, single] of singles.entries()) {
      const found = await (await call(`/v1/pets/${idAt(place)}`, { key })).text();
      expect(`${found.slice(0, -1)},"version":2}`).toBe(single);
    }
  });

  test("names animals whose ids a number would round", async () => {
    const last = await env.DB.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'pets'").first<number>("seq");
    onTestFinished(async () => {
      await env.DB.exec("DELETE FROM pets WHERE id > 9007199254740991");
      await env.DB.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'pets'").bind(last).run();
    });
    const large = ["9007199254740992", "9007199254740993", "9223372036854775806"];
    for (const id of large)
      await env.DB.exec(`INSERT INTO pets (id, name, category_id, status) VALUES (${id}, 'Odd', 1, 'sold')`);
    const changes = large.slice(1).map((id) => `{"id":${id},"name":"Even","version":1}`);
    const before = await env.DB.prepare("SELECT max(id) FROM events").first<number>("max(id)");
    const response = await update(`[${changes.join()}]`, header());
    const bodies = large.slice(1).map((id) => `{"id":${id},"name":"Even","categoryId":1,"status":"sold"}`);
    expect(await response.text()).toBe(`[${bodies.map((body) => `${body.slice(0, -1)},"version":2}`).join()}]`);
    const { results } = await env.DB.prepare("SELECT data FROM events WHERE id > ? ORDER BY id").bind(before).all();
    expect(results).toEqual(bodies.map((data) => ({ data })));
    expect(await env.DB.prepare("SELECT name FROM pets WHERE id = 9007199254740992").first("name")).toBe("Odd");
  });
});

test.each([{}, { name: "Rex", version: 1 }])(
  "a batch that changes nothing uses its Idempotency-Key, and one that is refused does not: %o",
  async (fields) => {
    const header = { "Idempotency-Key": crypto.randomUUID() };
    const changes = [{ id: idAt(0), ...fields }, { id: idAt(1) }];
    const other = [...changes, { id: idAt(2), version: 2 }];
    await expectError(await update(other, header), "precondition_failed");
    const first = await (await update(changes, header)).text();
    expect((await update([{ id: idAt(0), name: "Max" }])).status).toBe(200);
    const retry = await update(changes, header);
    expect(await retry.text()).toBe(first);
    expect(retry.headers.get("Idempotency-Replayed")).toBe("true");
    await expectError(await update(other, header), "idempotency_key_reused");
  },
);

test("a null removes a field that may be absent", async () => {
  const rows = [1, 2, 3].map(async () => {
    const body = { name: crypto.randomUUID(), description: "old" };
    return (await call("/v1/categories", { method: "POST", key, body })).json<{ id: Int64; name: string }>();
  });
  const [first, second, third] = await Promise.all(rows);
  const items = [
    { ...first, id: `${first?.id}` as Int64, description: null },
    { id: `${second?.id}` as Int64 },
    { id: `${third?.id}` as Int64, description: "new" },
  ];
  const session = new Session(env.DB, undefined);
  const { response } = await patchRows(
    { c: undefined as never, session, attempt: undefined },
    patchOfCategories,
    items,
  );
  expect(JSON.parse(response)).toEqual([
    { id: first?.id, name: first?.name, version: 2 },
    { ...second, version: 1 },
    { ...third, description: "new", version: 2 },
  ]);
});

test("of two batches with the same versions, one takes effect", async () => {
  const changes = (name: string) => ids.map((id) => ({ id, name, version: 1 }));
  const responses = await Promise.all(["A", "B", "C"].map((name) => update(changes(name))));
  expect(responses.filter(({ status }) => status === 412)).toHaveLength(2);
  const names = await env.DB.prepare("SELECT DISTINCT name, version FROM pets WHERE id >= ?").bind(ids[0]).all();
  expect(names.results).toHaveLength(1);
});

// Promise: batches-of-changes-are-whole
describe("is refused as a whole", () => {
  const rename = (places: number[], fields: (place: number) => Partial<Change>): Change[] =>
    places.map((place) => ({ id: idAt(place), name: "Max", ...fields(place) }));
  const all = Array.from({ length: 100 }, (_, place) => place);

  // Promise: batches-are-refused-in-order, update-many-refusals
  test.each([[[7]], [[0, 3, 99]], [all]])("with 404 and the places of unknown animals: %j", async (gone) => {
    for (const place of gone) await call(`/v1/pets/${idAt(place)}`, { method: "DELETE", key });
    await expectRefusal(
      "not_found",
      gone,
      rename(all, () => ({ version: 1 })),
    );
  });

  // Promise: batches-are-refused-in-order, refused-batches, update-many-refusals
  test.each([[[7]], [[0, 3, 99]], [all]])("with 412 and the places of other versions: %j", async (others) => {
    const version = (place: number) => (others.includes(place) ? { version: place % 2 ? 2 : 999_999_999_999_999 } : {});
    await expectRefusal("precondition_failed", others, rename(all, version));
    await expectRefusal(
      "precondition_failed",
      others,
      rename(all, (place) => ({ name: "Rex", ...version(place) })),
    );
    const alone = all.map((place) => ({ id: idAt(place), ...version(place) }));
    await expectRefusal("precondition_failed", others, alone);
  });

  // Promise: batches-are-refused-in-order, update-many-refusals
  test("with 409 and the places of animals on order whose status it names, also when it is equal", async () => {
    for (const place of [3, 17, 20]) await order(place);
    const status = (place: number) => ({ status: [3, 17].includes(place) ? "pending" : "sold" });
    const places = all.filter((place) => place !== 20);
    await expectRefusal("pet_on_order", [3, 17], [...rename(places, status), { id: idAt(20), name: "Max" }]);
    // Without a status, the animals may change.
    expect((await update(rename(all, () => ({})))).status).toBe(200);
  });

  // Promise: batches-are-refused-in-order, lists-of-tags, order-of-refusals
  test("with 404 before 409, and 409 before 412", async () => {
    await order(1);
    await call(`/v1/pets/${idAt(2)}`, { method: "DELETE", key });
    const version = rename([0], () => ({ version: 9 }));
    const held = rename([1], () => ({ status: "sold", version: 9 }));
    const gone = rename([2], () => ({ status: "sold", version: 9 }));
    await expectRefusal("not_found", [2], [...version, ...held, ...gone]);
    await expectRefusal("pet_on_order", [1], [...version, ...held]);
    await expectRefusal("precondition_failed", [0], version);
  });

  // Promise: preconditions-elsewhere
  test.each(["If-Match", "If-None-Match"])("with %s", async (header) => {
    const message = await expectError(
      await update([{ id: idAt(0), name: "Max" }], { [header]: "*" }),
      "invalid_request",
    );
    expect(message).toContain("the version of each");
  });

  const RULE = "The request body has to be a JSON array of 1 to 100 changes.";
  const id = "an integer from -2^63 to 2^63 - 1";
  const version = "an integer from 1 to 999999999999999";
  test.each<[string, object | string, string]>([
    ["an object", { id: 1 }, RULE],
    ["no change", [], RULE],
    ["101 changes", Array.from({ length: 101 }, (_, index) => ({ id: index })), RULE],
    ["a change that is no object", [{ id: 1 }, 5, null], "1, 2: the item has to be a JSON object."],
    ["a missing id", [{ name: "Max" }], `0: id is required: ${id}.`],
    ["a bad id", '[{"id":1.5},{"id":9223372036854775808},{"id":"1"},{"id":null}]', `0, 1, 2, 3: id has to be ${id}.`],
    [
      "a bad version",
      '[{"id":1,"version":0},{"id":2,"version":1000000000000000},{"id":3,"version":1.5},{"id":4,"version":"1"},{"id":5,"version":null},{"id":6,"version":1.0},{"id":7,"version":99999999999999.0}]',
      `0, 1, 2, 3, 4: version has to be ${version}.`,
    ],
    ["a bad status", [{ id: 1, status: null }], "0: status has to be one of available, pending, sold."],
    ["an id twice", '[{"id":1},{"id":2},{"id":1.0},{"id":20e-1}]', "2, 3: id is that of an earlier item."],
    [
      "a long id twice",
      '[{"id":9007199254740993},{"id":9007199254740993},{"id":9007199254740992}]',
      "1: id is that of an earlier item.",
    ],
  ])("%s", async (_, body, message) => {
    const { DB, statements } = observedDatabase();
    expect(await expectError(await update(body, {}, { DB }), "invalid_request")).toBe(message);
    expect(statements).toEqual([]);
  });

  // Promise: messages-are-bounded
  test("with a message that the document allows", () => {
    const broken = Array.from({ length: 100 }, () => ({ id: "", version: "", name: "", categoryId: "", status: "" }));
    const { error } = petChanges().safeParse(broken);
    const { message } = invalid(error?.issues ?? []);
    expect(message).toMatch(/^0, 1, .* name has to be .*characters.*\.$/);
    expect(message.length).toBeGreaterThan(1_500);
    expect(message.length).toBeLessThanOrEqual(2_000);
  });
});
