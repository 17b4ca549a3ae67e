import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, get, newClient, patch, post, remove, tally } from "./changes.ts";
import { AT_ONCE, create, many, PAIRS, race, sendAll } from "./racing.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// As in races.test.ts, the bookmarks of the responses reveal the order in which the database ran the requests.

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

const ORDERS = "/v1/store/orders";

const createPet = (send: Client) => create(send, "/v1/pets", { name: "Rex", categoryId: 1 });
const idOf = (address: string) => Number(address.split("/").at(-1));
const place = (pet: string, headers = {}) => post(ORDERS, { petId: idOf(pet) }, headers);
const ship = (order: string) => patch(order, { status: "shipped" });
const ordersOf = async (send: Client, pet: string) => (await send(get(`${ORDERS}?petId=${idOf(pet)}`))).body;

test.each([
  ["each with its own key", (index: number) => ({ "Idempotency-Key": `order-${index}` })],
  ["without a key", () => ({})],
])("of 20 orders for one animal, %s, one is placed", async (_name, headers) => {
  const send = await newClient(service);
  const pet = await createPet(send);
  const answers = await sendAll(
    send,
    many(AT_ONCE, (index) => place(pet, headers(index))),
  );
  expect(tally(answers)).toEqual({ 201: 1, "409 pet_not_available": AT_ONCE - 1 });
  expect(await ordersOf(send, pet)).toEqual([answers.find(({ status }) => status === 201)?.body]);
  expect(await send(get(pet))).toMatchObject({ version: 2, body: { status: "pending" } });
});

test("20 attempts under one key place one order and get the same response", async () => {
  const send = await newClient(service);
  const pet = await createPet(send);
  const answers = await sendAll(
    send,
    many(AT_ONCE, () => place(pet, { "Idempotency-Key": "order" })),
  );
  expect(tally(answers)).toEqual({ 201: AT_ONCE });
  const [first] = answers;
  for (const { body } of answers) expect(body).toEqual(first?.body);
  expect(await ordersOf(send, pet)).toEqual([first?.body]);
});

test("an order is either shipped or cancelled, whichever the database runs first", async () => {
  const send = await newClient(service);
  const pets = new Map<string, string>();
  await Promise.all(
    many(PAIRS, async () => {
      const pet = await createPet(send);
      pets.set(await create(send, ORDERS, { petId: idOf(pet) }), pet);
    }),
  );
  const races = await race(service, [...pets.keys()], send, remove, ship);
  for (const { address, removed, changed, isRemovedFirst } of races) {
    if (isRemovedFirst) {
      expect([removed, changed]).toMatchObject([{ status: 204 }, { status: 409, code: "order_cancelled" }]);
    } else {
      expect([removed, changed]).toMatchObject([
        { status: 409, code: "order_shipped" },
        { status: 200, version: 2 },
      ]);
    }
    expect(await send(get(address))).toMatchObject({
      version: 2,
      body: { status: isRemovedFirst ? "cancelled" : "shipped", complete: !isRemovedFirst },
    });
    expect(await send(get(pets.get(address) ?? expect.unreachable()))).toMatchObject({
      version: 3,
      body: { status: isRemovedFirst ? "available" : "sold" },
    });
  }
});

test("an animal can be deleted before an order for it, and not after", async () => {
  const send = await newClient(service);
  const pets = await Promise.all(many(PAIRS, () => createPet(send)));
  const races = await race(service, pets, send, remove, place);
  for (const { address, removed, changed, isRemovedFirst } of races) {
    const after = await send(get(address));
    if (isRemovedFirst) {
      expect([removed, changed]).toMatchObject([{ status: 204 }, { status: 409, code: "pet_not_available" }]);
      expect(after.status).toBe(404);
      expect(await ordersOf(send, address)).toEqual([]);
    } else {
      expect([removed, changed]).toMatchObject([{ status: 409, code: "pet_on_order" }, { status: 201 }]);
      expect(after).toMatchObject({ status: 200, version: 2, body: { status: "pending" } });
      expect(await ordersOf(send, address)).toEqual([changed.body]);
    }
  }
});

test("the status of an animal can change before an order for it, and not after", async () => {
  const send = await newClient(service);
  const pets = await Promise.all(many(PAIRS, () => createPet(send)));
  const changes = pets.flatMap((pet, index) => {
    const pair = [patch(pet, { status: "sold" }), place(pet)];
    return index % 2 === 0 ? pair : pair.toReversed();
  });
  const answers = await sendAll(send, changes);
  const orders = new Set<boolean>();
  for (const [index, pet] of pets.entries()) {
    const pair = answers.slice(2 * index, 2 * index + 2);
    const [patched, placed] = index % 2 === 0 ? pair : pair.toReversed();
    const isPatchedFirst = (patched?.bookmark ?? "") < (placed?.bookmark ?? "");
    orders.add(isPatchedFirst);
    expect([patched, placed]).toMatchObject(
      isPatchedFirst
        ? [
            { status: 200, version: 2 },
            { status: 409, code: "pet_not_available" },
          ]
        : [{ status: 409, code: "pet_on_order" }, { status: 201 }],
    );
    expect(await send(get(pet))).toMatchObject({
      version: 2,
      body: { status: isPatchedFirst ? "sold" : "pending" },
    });
  }
  expect(orders, "both orders").toEqual(new Set([true, false]));
});
