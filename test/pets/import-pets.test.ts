// Imports, and the external ids by which they find animals.
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { eventsOf, known } from "../events/feed.ts";
import { call, create, expectError, expectJson, idOf } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { type Fault, observedDatabase } from "../support/observed-d1.ts";
import { EXACT, expectExact } from "./exact.ts";

interface Imported {
  externalId: string;
  name: string;
  categoryId: number;
  status?: string;
}
interface Animal extends Imported {
  id: number;
  version: number;
  result: string;
}

const PETS = "/v1/pets";
const BATCH = `${PETS}/batch`;
let count = 0;
/** Not used by another test. */
let sku: (n: number) => string;
beforeEach(() => {
  const own = ++count;
  sku = (n) => `SKU-${own}-${n}`;
});

const rex = (n: number, fields: Partial<Imported> = {}): Imported => ({
  externalId: sku(n),
  name: "Rex",
  categoryId: 1,
  ...fields,
});
const several = (first: number, last: number, fields: Partial<Imported> = {}) =>
  Array.from({ length: last - first + 1 }, (_, index) => rex(first + index, fields));
const send = (
  method: string,
  path: string,
  body: object | string,
  headers: Record<string, string> = {},
  ...faults: Fault[]
) => call(path, { method, key, body, headers, bindings: { DB: observedDatabase(...faults).DB } });
const put = (body: object | string, headers: Record<string, string> = {}, ...faults: Fault[]) =>
  send("PUT", BATCH, body, headers, ...faults);
const imported = async (body: object | string) => (await expectJson(await put(body), 200)) as Animal[];
const resultsOf = (animals: Animal[]) => animals.map(({ version, result }) => `${result} ${version}`);
const stored = async () => (await env.DB.prepare("SELECT * FROM pets ORDER BY id").all()).results;

describe("an import", () => {
  // Promise: imports-make-animals-equal, imports-leave-events-of-changes, imports-are-whole
  test("creates, changes and leaves animals in one request, in the order of its items", async () => {
    await imported([rex(3), rex(1), rex(2, { status: "sold" })]);
    const items = [
      rex(5, { status: "pending" }),
      rex(1),
      rex(4),
      rex(2, { name: "Émile 🐍", categoryId: -7 }),
      rex(3, { status: "sold" }),
    ];
    const { response, events } = await eventsOf(key, () => put(items));
    const animals = (await expectJson(response, 200)) as Animal[];
    const [five, one, four, two, three] = animals.map(({ id }) => id);
    expect(five).toBeGreaterThan(two ?? 0);
    expect(four).toBe((five ?? 0) + 1);
    expect(animals).toEqual([
      { id: five, ...items[0], version: 1, result: "created" },
      { id: one, ...items[1], status: "available", version: 1, result: "unchanged" },
      { id: four, ...items[2], status: "available", version: 1, result: "created" },
      { id: two, ...items[3], status: "sold", version: 2, result: "updated" },
      { id: three, ...items[4], version: 2, result: "updated" },
    ]);
    const body = ({ version: _version, result: _result, ...animal }: Animal) => animal;
    const of = (place: number) => body(animals[place] ?? expect.unreachable());
    expect(events.map(known)).toEqual([
      ["pet.created", 1, of(0)],
      ["pet.created", 1, of(2)],
      ["pet.updated", 2, of(4)],
      ["pet.updated", 2, of(3)],
    ]);
    for (const name of ["Location", "ETag", "Idempotency-Replayed"]) expect(response.headers.get(name)).toBeNull();
    expect(response.headers.get("x-d1-bookmark")).not.toBeNull();
    expect(await expectJson(await call(`${PETS}?id=${two}`, { key }), 200)).toEqual([of(3)]);
  });

  // Promise: imports-may-run-twice
  test("that runs again writes nothing, also under another Idempotency-Key", async () => {
    const items = several(1, 100);
    const first = await imported(items);
    const ids = first.map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
    const before = await stored();
    const { DB, roundTrips, statements } = observedDatabase();
    const again = () =>
      call(BATCH, { method: "PUT", key, body: items, headers: { "Idempotency-Key": "K" }, bindings: { DB } });
    const { response, events } = await eventsOf(key, again);
    const left = first.map((animal) => ({ ...animal, result: "unchanged" }));
    expect(await expectJson(response, 200)).toEqual(left);
    expect([events, roundTrips()]).toEqual([[], 1]);
    expect(statements.map(({ meta }) => meta?.rows_written)).toEqual([0, 0, 0, 0, 0]);
    expect(await stored()).toEqual(before);
    // The key stands for nothing.
    const other = await call(BATCH, { method: "PUT", key, body: [rex(1)], headers: { "Idempotency-Key": "K" } });
    expect(await expectJson(other, 200)).toEqual(left.slice(0, 1));
  });

  // Promise: imports-win
  test("ignores a version and an id of an item, and keeps every digit and byte", async () => {
    const [animal] = await imported([rex(1)]);
    const items = EXACT.map(
      ({ sent }, index) => `{"id":${animal?.id},"version":9,"externalId":"${sku(index + 1)}",${sent}}`,
    );
    for (const result of ["created", "unchanged"]) {
      expectExact(await (await put(`[${items.join()}]`)).text(), (index) => {
        const version = index === 0 ? 2 : 1;
        const first = index === 0 && result === "created" ? "updated" : result;
        return `"status":"available","externalId":"${sku(index + 1)}","version":${version},"result":"${first}"}`;
      });
    }
  });

  test("lets searches find the names that it writes", async () => {
    await imported([rex(1, { name: `Łucja${count}` })]);
    await imported([rex(1, { name: `Zoë${count}` }), rex(2, { name: `Ängel${count}` })]);
    const found = async (q: string) =>
      ((await expectJson(await call(`${PETS}?q=${q}${count}`, { key }), 200)) as Animal[]).map((one) => one.externalId);
    expect([await found("lucja"), await found("zoe"), await found("angel")]).toEqual([[], [sku(1)], [sku(2)]]);
  });

  // Promise: imports-keep-animals-of-orders
  test.each(["placed", "shipped"])("leaves the status of an animal whose order is %s", async (state) => {
    const [held, free] = await imported(several(1, 2));
    const path = await create("/v1/store/orders", { petId: held?.id });
    if (state === "shipped") await send("PATCH", path, { status: "shipped" });
    const status = state === "placed" ? "pending" : "sold";
    const before = await stored();
    const other = rex(1, { name: "Max", status: "available" });
    const { response, events } = await eventsOf(key, () => put([rex(3), other, rex(2, { name: "Max" }), rex(4)]));
    expect(await expectError(response, "pet_on_order")).toBe(
      "1: An order decides the status of this animal. Leave status out.",
    );
    expect(events).toEqual([]);
    expect(await stored()).toEqual(before);
    for (const item of [rex(1, { name: "Max" }), rex(1, { name: "Bo", status })])
      expect(await imported([item])).toMatchObject([{ ...item, status, result: "updated" }]);
    await expectError(await send("PATCH", `${PETS}/${held?.id}`, { status: "available" }), "pet_on_order");
    expect(await imported([rex(2, { status: "sold" })])).toMatchObject([{ id: free?.id, result: "updated" }]);
  });

  test("may change the status of an animal whose order is cancelled", async () => {
    const [animal] = await imported([rex(1)]);
    await call(await create("/v1/store/orders", { petId: animal?.id }), { method: "DELETE", key });
    expect(resultsOf(await imported([rex(1, { status: "sold" })]))).toEqual(["updated 4"]);
  });

  // Promise: external-ids-are-ascii
  test("is refused as a whole, before it reaches the database", async () => {
    const text = "a string of 1 to 255 visible ASCII characters";
    for (const [items, message] of [
      [[rex(1), rex(2), rex(1), rex(1, { name: "Max" })], "2, 3: externalId is that of an earlier item."],
      [[{ ...rex(1), externalId: undefined }], `0: externalId is required: ${text}.`],
      [[rex(1), { ...rex(2), externalId: null }], `1: externalId has to be ${text}.`],
      [[rex(1, { externalId: "" }), rex(1, { externalId: "ä" })], `0, 1: externalId has to be ${text}.`],
      [[rex(1, { externalId: "a b" }), rex(1, { externalId: "x".repeat(256) })], `0, 1: externalId has to be ${text}.`],
      [[{ externalId: sku(1), categoryId: 1 }], /^0: name is required: /],
      [[rex(1, { status: "gone" })], "0: status has to be one of available, pending, sold."],
      [[], "The request body has to be a JSON array of 1 to 100 animals."],
      [several(1, 101), "The request body has to be a JSON array of 1 to 100 animals."],
    ] as const) {
      const { DB, statements } = observedDatabase();
      const response = await call(BATCH, { method: "PUT", key, body: items, bindings: { DB } });
      expect(await expectError(response, "invalid_request")).toMatch(message);
      expect(statements).toEqual([]);
    }
  });

  test.each(["If-Match", "If-None-Match"])("refuses %s", async (header) => {
    expect(await expectError(await put([rex(1)], { [header]: "*" }), "invalid_request")).toBe(
      "If-Match and If-None-Match are for one resource: an import takes the state of its source.",
    );
  });

  // Promise: imports-that-race
  test("at the same time as others, creates no animal twice", async () => {
    const races = await Promise.all(Array.from({ length: 8 }, (_, i) => imported(several(i + 1, i + 20))));
    const results = races.flat();
    expect(results.filter(({ result }) => result === "created")).toHaveLength(27);
    expect(new Set(results.map(({ id }) => id)).size).toBe(27);
  });

  test.each(["before", "after"] as const)("that fails %s its transaction may be sent again", async (when) => {
    const failed = await put([rex(1)], {}, { when, message: "D1_ERROR: Network connection lost." });
    await expectError(failed, "service_unavailable");
    expect(failed.headers.get("Retry-After")).toBe("5");
    expect(resultsOf(await imported([rex(1)]))).toEqual([when === "before" ? "created 1" : "unchanged 1"]);
  });
});

describe("an external id", () => {
  const TAKEN = "Another animal has this externalId.";

  // Promise: external-ids-are-unique
  test.each([
    ["without an Idempotency-Key", (): Record<string, string> => ({})],
    ["with one", () => ({ "Idempotency-Key": crypto.randomUUID() })],
  ])("is that of one animal, %s", async (_, headersOf) => {
    const path = await create(PETS, rex(1));
    const other = await create(PETS, rex(2));
    const before = await stored();
    for (const [method, to, body, message, repaired] of [
      ["POST", PETS, rex(1), TAKEN, rex(3)],
      ["POST", BATCH, [rex(4), rex(1), rex(2), rex(5)], `1, 2: ${TAKEN}`, [rex(4), rex(5)]],
      ["PATCH", other, { externalId: sku(1), name: "Max" }, TAKEN, { externalId: sku(2), name: "Max" }],
      [
        "PATCH",
        BATCH,
        [
          { id: idOf(path), externalId: sku(2) },
          { id: idOf(other), externalId: sku(1) },
        ],
        `0, 1: ${TAKEN}`,
        [{ id: idOf(path), externalId: sku(6) }],
      ],
    ] as const) {
      const headers = headersOf();
      const { response, events } = await eventsOf(key, () => send(method, to, body, headers));
      expect(await expectError(response, "external_id_taken")).toBe(message);
      expect(events).toEqual([]);
      // The refusal has not used the key.
      const done = await send(method, to, repaired, headers);
      expect(done.status).toBe(method === "POST" ? 201 : 200);
      // A replay, whoever has the id meanwhile.
      if ("Idempotency-Key" in headers)
        expect((await send(method, to, repaired, headers)).headers.get("Idempotency-Replayed")).toBe("true");
    }
    expect((await stored()).length).toBe(before.length + 3);
  });

  test("twice in one batch is refused, and null is not", async () => {
    const animals = (await expectJson(await send("POST", BATCH, several(1, 3)), 201)) as Animal[];
    const [one, two, three] = animals.map(({ id }) => id);
    const message = /^1: externalId is that of an earlier item\.$/;
    for (const [method, body] of [
      ["POST", [rex(4), rex(4)]],
      [
        "PATCH",
        [
          { id: one, externalId: sku(4) },
          { id: two, externalId: sku(4) },
        ],
      ],
    ] as const)
      expect(await expectError(await send(method, BATCH, body), "invalid_request")).toMatch(message);
    const none = [one, two, three].map((id) => ({ id, externalId: null }));
    const changed = (await expectJson(await send("PATCH", BATCH, none), 200)) as Animal[];
    expect(changed.map(({ externalId, version }) => [externalId, version])).toEqual([
      [undefined, 2],
      [undefined, 2],
      [undefined, 2],
    ]);
    // Free for another one.
    expect(resultsOf(await imported([rex(1)]))).toEqual(["created 1"]);
    expect(animals.map(({ id }) => id)).not.toContain((await imported([rex(1)]))[0]?.id);
  });

  test("comes after the order of the animal, and before the version", async () => {
    await create(PETS, rex(1));
    const path = await create(PETS, rex(2));
    const body = { externalId: sku(1), status: "sold" };
    await expectError(await send("PATCH", path, body, { "If-Match": '"9"' }), "external_id_taken");
    await create("/v1/store/orders", { petId: idOf(path) });
    await expectError(await send("PATCH", path, body), "pet_on_order");
    const free = await create(PETS, rex(3));
    const batch = [
      { id: idOf(free), externalId: sku(1), version: 9 },
      { id: idOf(path), status: "sold" },
    ];
    expect(await expectError(await send("PATCH", BATCH, batch), "pet_on_order")).toMatch(/^1: /);
    expect(await expectError(await send("PATCH", BATCH, batch.slice(0, 1)), "external_id_taken")).toMatch(/^0: /);
  });

  test("goes with its animal", async () => {
    const path = await create(PETS, rex(1));
    await call(path, { method: "DELETE", key });
    expect(resultsOf(await imported([rex(1)]))).toEqual(["created 1"]);
  });

  // Promise: external-ids-are-found
  test("finds its animal, byte for byte, with the other filters", async () => {
    const text = "!a%'\"\\?&#+~";
    await imported([rex(1), rex(2, { externalId: text })]);
    const found = async (query: string, id = sku(1)) => {
      const response = await call(`${PETS}?externalId=${encodeURIComponent(id)}${query}`, { key });
      expect(response.headers.get("Link")).toBeNull();
      return ((await expectJson(response, 200)) as Animal[]).map(({ externalId }) => externalId);
    };
    expect(await found("", text)).toEqual([text]);
    for (const query of ["", "&status=available", "&categoryId=1", "&sort=-id", "&include=version&limit=1"])
      expect(await found(query), query).toEqual([sku(1)]);
    for (const query of ["&status=sold", "&categoryId=2"]) expect(await found(query), query).toEqual([]);
    expect(await found("", sku(1).toLowerCase())).toEqual([]);
    const newest = await call(`${PETS}?sort=-id&limit=1`, { key });
    const after = `&sort=-id&cursor=${/cursor=([\w-]+)/.exec(newest.headers.get("Link") ?? "")?.[1]}`;
    expect([await found(after), await found(after, text)]).toEqual([[sku(1)], []]);
    for (const query of ["&id=1", "&q=rex"])
      expect(await expectError(await call(`${PETS}?externalId=A${query}`, { key }), "invalid_request")).toBe(
        "externalId cannot be beside id or q.",
      );
    for (const id of ["", "a b", "ä", "x".repeat(256)])
      expect(
        await expectError(await call(`${PETS}?externalId=${encodeURIComponent(id)}`, { key }), "invalid_request"),
      ).toBe("externalId has to be 1 to 255 visible ASCII characters.");
  });
});
