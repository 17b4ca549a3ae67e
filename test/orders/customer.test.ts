import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { encodeCursor } from "../../src/http/cursor.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { eventsOf } from "../events/feed.ts";
import { call, expectError, expectJson, idOf, nextPage } from "../support/client.ts";
import { grantKey, grantToken } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { Client, statesOf } from "./store.ts";

const LIST = "/v1/store/orders";
const RULE = "customer has to be a string of 1 to 255 visible ASCII characters.";
const MISSING = "There is no order with this id.";
const LIMIT = "The customer has as many placed orders as the token allows.";

interface Order {
  id: number;
  status: string;
  customer?: string;
}

let shop: Client;
beforeAll(async () => {
  shop = await Client.create();
});
const unique = () => crypto.randomUUID();
const idsIn = async (response: Response) => ((await expectJson(response, 200)) as Order[]).map(({ id }) => id);
const pathOf = (response: Response) => response.headers.get("Location") ?? "";
const customerOf = async (customer: string, maxPlaced = 100, key = shop.key) =>
  Client.create(await grantToken(key, { customer, maxPlaced }));
const placeFor = async (customer?: string) => pathOf(await shop.place({ petId: await shop.addAnimal(), customer }));

describe("a customer token", () => {
  let [ada, bo]: Client[] = [];
  let [adaId, boId] = ["", ""];
  const clients = () => [ada as Client, bo as Client] as const;
  beforeEach(async () => {
    [adaId, boId] = [`ada-${unique()}`, `bo-${unique()}`];
    [ada, bo] = [await customerOf(adaId), await customerOf(boId)];
  });

  // Promise: customers-have-their-own-orders
  test("places orders for its customer alone, whatever the body says", async () => {
    const [ada] = clients();
    const placed = (await expectJson(await ada.place({ petId: await shop.addAnimal() }), 201)) as Order;
    expect(placed.customer).toBe(adaId);
    const named = await ada.place({ petId: await shop.addAnimal(), customer: adaId });
    expect(await expectJson(named, 201)).toMatchObject({ customer: adaId });
    const petId = await shop.addAnimal();
    for (const customer of [boId, "x", adaId.toUpperCase()]) {
      expect(await expectError(await ada.place({ petId, customer }), "invalid_request")).toBe(
        "customer has to be that of the token.",
      );
    }
    expect(await expectError(await ada.place({ petId, customer: null }), "invalid_request")).toBe(RULE);
    for (const reference of ["cart", "r"]) {
      expect(await expectError(await ada.place({ petId, reference }), "invalid_request")).toBe(
        "reference is not for customer tokens.",
      );
    }
    expect(await shop.animal(petId)).toEqual(["available", '"1"']);
    expect(await statesOf(petId)).toEqual([]);
  });

  // Promise: customers-have-their-own-orders
  test("does not reach an order of another customer, of nobody, or one that does not exist, in any way", async () => {
    const [ada, bo] = clients();
    const own = pathOf(await ada.place({ petId: await shop.addAnimal() }));
    const others = {
      "of another": pathOf(await bo.place({ petId: await shop.addAnimal() })),
      "of another, shipped": await placeFor(boId),
      "of another, cancelled": await placeFor(boId),
      "of nobody": await placeFor(),
      "of a shop with a similar name": await placeFor(`${adaId}!`),
      missing: `${LIST}/999999999`,
      "of no form": `${LIST}/x`,
    };
    await shop.ship(others["of another, shipped"]);
    await shop.delete(others["of another, cancelled"]);
    for (const [what, path] of Object.entries(others)) {
      const before = await env.DB.prepare("SELECT * FROM orders ORDER BY id").all();
      for (const headers of [
        {},
        { "If-Match": '"1"' },
        { "If-Match": '"2"' },
        { "If-Match": '"9"' },
        { "If-Match": "*" },
        { "If-None-Match": '"1"' },
        { "If-None-Match": "*" },
        { "Cache-Control": "max-age=60" },
      ] as Record<string, string>[]) {
        // The shop reads first, so that the isolate remembers it.
        await shop.get(path, headers);
        for (const response of [await ada.get(path, headers), await ada.delete(path, headers)]) {
          expect(await expectError(response, "not_found"), what).toBe(MISSING);
          expect(response.headers.get("ETag")).toBeNull();
        }
        const patched = await ada.patch(path, {}, headers);
        expect(await expectError(patched, "insufficient_scope")).toBe("Customer tokens cannot use this operation.");
      }
      expect(await env.DB.prepare("SELECT * FROM orders ORDER BY id").all()).toMatchObject({ results: before.results });
    }
    expect((await ada.get(own, { "Cache-Control": "max-age=60" })).status).toBe(200);
    expect(await expectError(await bo.get(own, { "Cache-Control": "max-age=60" }), "not_found")).toBe(MISSING);
    expect((await ada.get(own, { "If-None-Match": '"1"' })).status).toBe(304);
    expect((await ada.delete(own, { "If-Match": '"1"' })).status).toBe(204);
    expect((await ada.delete(own)).status).toBe(204);
    expect(await expectJson(await ada.get(own), 200)).toMatchObject({ status: "cancelled", customer: adaId });
  });

  test.each(["GET", "DELETE"])(
    "costs %s the same for an order of another as for one that does not exist",
    async (method) => {
      const [ada] = clients();
      const shipped = await placeFor(boId);
      await shop.ship(shipped);
      const headers = [{}, { "If-Match": '"1"' }, { "If-None-Match": '"1"' }, { "Idempotency-Key": unique() }];
      const costsOf = async (path: string) => {
        const { DB, statements } = observedDatabase();
        for (const one of headers as Record<string, string>[])
          expect((await call(path, { method, key: ada.key, headers: one, bindings: { DB } })).status).toBe(404);
        return statements.map(({ sql, meta }) => [sql, meta?.rows_read, meta?.rows_written]);
      };
      const missing = await costsOf(`${LIST}/999999999`);
      expect(missing.length).toBeGreaterThanOrEqual(headers.length);
      for (const path of [await placeFor(boId), shipped, await placeFor()])
        expect(await costsOf(path)).toEqual(missing);
    },
  );

  test("cannot cancel its shipped order", async () => {
    const [ada] = clients();
    const path = pathOf(await ada.place({ petId: await shop.addAnimal() }));
    await shop.ship(path);
    await expectError(await ada.delete(path), "order_shipped");
  });

  // Promise: customers-have-their-own-orders
  test("lists its own orders alone, with every filter, sort and cursor, and from memory", async () => {
    const [ada, bo] = clients();
    const [own, others]: number[][] = [[], []];
    for (let i = 0; i < 3; i++) {
      own?.push(idOf(pathOf(await ada.place({ petId: await shop.addAnimal() }))));
      others?.push(idOf(pathOf(await bo.place({ petId: await shop.addAnimal() }))));
    }
    await shop.delete(`${LIST}/${own?.[1]}`);
    const queries = ["", "?status=placed", "?sort=-id", "?include=version", "?limit=1", `?customer=${adaId}`];
    for (const query of queries) {
      for (const headers of [{}, { "Cache-Control": "max-age=60" }] as Record<string, string>[]) {
        for (const client of [shop, bo, ada, bo, ada]) {
          if (client === bo && query.includes("customer")) continue;
          const ids = await idsIn(await client.get(LIST + query, headers));
          if (client === shop) continue;
          const [mine, theirs] = client === ada ? [own, others] : [others, own];
          expect(ids.length).toBeGreaterThan(0);
          for (const id of ids) expect(mine).toContain(id);
          for (const id of ids) expect(theirs).not.toContain(id);
        }
      }
    }
    // A cursor that the shop, or another customer, got leads nowhere else.
    for (const after of ["0", String(others?.[0]), String((own?.[0] ?? 0) - 1)]) {
      const cursor = encodeCursor({ after: after as Int64, sort: "id" });
      expect(own).toEqual(expect.arrayContaining(await idsIn(await ada.get(`${LIST}?cursor=${cursor}`))));
    }
    const page = await ada.get(`${LIST}?limit=1`);
    expect(await idsIn(await ada.get(nextPage(page) ?? ""))).toEqual([own?.[1]]);
    expect(await idsIn(await bo.get(nextPage(page) ?? ""))).toEqual([others?.[0]]);
  });

  test.each([
    ["customer=somebody-else", "customer has to be that of the token."],
    ["petId=1", "petId and reference are not for customer tokens."],
    ["reference=cart", "petId and reference are not for customer tokens."],
    ["petId=1&status=placed", "petId and reference are not for customer tokens."],
    ["id=1", /^id is unknown\./],
    ["customer[]=a", /^customer\[\] has to be customer/],
  ])("cannot ask for ?%s", async (query, message) => {
    const [ada] = clients();
    const actual = await expectError(await ada.get(`${LIST}?${query}`), "invalid_request");
    if (typeof message === "string") expect(actual).toBe(message);
    else expect(actual).toMatch(message);
  });

  // Promise: keys-of-customers
  test("shares no Idempotency-Key with another customer, or with its key", async () => {
    const [ada, bo] = clients();
    const headers = { "Idempotency-Key": "basket-1" };
    const [one, two, three] = [await shop.addAnimal(), await shop.addAnimal(), await shop.addAnimal()];
    const first = await ada.place({ petId: one }, headers);
    expect([first.status, first.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
    const body = await first.text();
    // The same animal: another customer gets no replay of it.
    await expectError(await bo.place({ petId: one }, headers), "pet_not_available");
    const second = await bo.place({ petId: two }, headers);
    expect([second.status, second.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
    const third = await shop.place({ petId: three, customer: adaId }, headers);
    expect([third.status, third.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
    // A retry names its customer or not, and comes with another token of the customer.
    const later = await customerOf(adaId, 1);
    for (const client of [ada, later]) {
      for (const retry of [{ petId: one }, { petId: one, customer: adaId }]) {
        const replayed = await client.place(retry, headers);
        expect([replayed.headers.get("Idempotency-Replayed"), await replayed.text()]).toEqual(["true", body]);
      }
    }
    await expectError(await ada.place({ petId: two }, headers), "idempotency_key_reused");
    const { results } = await env.DB.prepare(
      "SELECT api_key_id FROM idempotency_keys WHERE idempotency_key = 'basket-1'",
    ).all<{
      api_key_id: string;
    }>();
    expect(results.map(({ api_key_id }) => api_key_id.replace(/^\S+/, "").trim()).toSorted()).toEqual(
      ["", adaId, boId].toSorted(),
    );
  });

  // Promise: order-limit
  test("allows so many placed orders of its customer, whoever placed them", async () => {
    const customer = unique();
    const two = await customerOf(customer, 2);
    await placeFor(customer);
    const own = pathOf(await two.place({ petId: await shop.addAnimal() }, { "Idempotency-Key": customer }));
    const petId = await shop.addAnimal();
    for (const headers of [{}, { "Idempotency-Key": unique() }] as Record<string, string>[]) {
      const { response, events } = await eventsOf(shop.key, () => two.place({ petId }, headers));
      expect(await expectError(response, "order_limit")).toBe(LIMIT);
      expect(events).toEqual([]);
    }
    expect(await shop.animal(petId)).toEqual(["available", '"1"']);
    // Whether the animal exists makes no difference.
    await expectError(await two.place({ petId: 999_999_999 }), "order_limit");
    // A token of the same customer with a higher limit, the shop itself, and other customers go on.
    expect((await (await customerOf(customer, 3)).place({ petId })).status).toBe(201);
    expect(await placeFor(customer)).not.toBe("");
    expect((await clients()[0].place({ petId: await shop.addAnimal() })).status).toBe(201);
    // What is shipped or cancelled makes room.
    const placed = await idsIn(await shop.get(`${LIST}?customer=${customer}&status=placed`));
    expect(placed).toContain(idOf(own));
    const [shipped, ...others] = placed;
    await shop.ship(`${LIST}/${shipped}`);
    await expectError(await two.place({ petId: 999_999_999 }), "order_limit");
    await two.delete(`${LIST}/${others[0]}`);
    await two.delete(`${LIST}/${others[1]}`);
    expect(placed).toHaveLength(4);
    await expectError(await two.place({ petId: 999_999_999 }), "pet_not_available");
    expect((await two.place({ petId: await shop.addAnimal() })).status).toBe(201);
    await expectError(await two.place({ petId: 999_999_999 }), "order_limit");
  });

  // Promise: order-limit
  test("replays its response at the limit, and after a lost response", async () => {
    const customer = unique();
    const one = await customerOf(customer, 1);
    const petId = await shop.addAnimal();
    const headers = { "Idempotency-Key": unique() };
    const lost = { when: "after", message: "Network connection lost." } as const;
    const first = await one.place({ petId }, headers, lost);
    expect(first.status).toBe(201);
    const text = await first.text();
    const retry = await one.place({ petId }, headers);
    expect([retry.status, retry.headers.get("Idempotency-Replayed"), await retry.text()]).toEqual([201, "true", text]);
    await expectError(
      await one.place({ petId: await shop.addAnimal() }, { "Idempotency-Key": unique() }),
      "order_limit",
    );
  });

  // Promise: order-limit
  test("keeps its limit when its customer orders many animals at once", async () => {
    for (const keyed of [false, true]) {
      const customer = unique();
      const three = await customerOf(customer, 3);
      const pets = await Promise.all(Array.from({ length: 12 }, () => shop.addAnimal()));
      const answers = await Promise.all(
        pets.map((petId) => three.place({ petId }, keyed ? { "Idempotency-Key": unique() } : {})),
      );
      expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(3);
      expect(answers.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(9);
      expect(await idsIn(await shop.get(`${LIST}?customer=${customer}`))).toHaveLength(3);
    }
  });

  test("a customer of another key has the same orders, and no shared Idempotency-Key", async () => {
    const other = await grantKey();
    const [ada] = clients();
    const twin = await customerOf(adaId, 100, other);
    const headers = { "Idempotency-Key": "twin" };
    const path = pathOf(await ada.place({ petId: await shop.addAnimal() }, headers));
    expect((await twin.get(path)).status).toBe(200);
    const second = await twin.place({ petId: await shop.addAnimal() }, headers);
    expect([second.status, second.headers.get("Idempotency-Replayed")]).toEqual([201, null]);
  });
});
