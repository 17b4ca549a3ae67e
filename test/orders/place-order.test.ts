import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { call, expectError, expectJson } from "../support/client.ts";
import { Client, statesOf } from "./store.ts";

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

let client: Client;
beforeAll(async () => {
  client = await Client.create();
});

// Promise: complete-when-shipped, states-of-an-order, times-of-an-order
test("an order is placed for an animal that is available, which becomes pending", async () => {
  const petId = await client.addAnimal();
  const before = Date.now();
  const response = await client.place({ petId });
  const order = (await expectJson(response, 201)) as { id: number; createdAt: string };
  expect(order).toEqual({
    id: expect.any(Number),
    petId,
    quantity: 1,
    status: "placed",
    createdAt: expect.stringMatching(TIME),
    shipDate: null,
    complete: false,
  });
  expect(Math.abs(Date.parse(order.createdAt) - before)).toBeLessThan(60_000);
  expect(response.headers.get("Location")).toBe(`/v1/store/orders/${order.id}`);
  expect(response.headers.get("ETag")).toBe('"1"');
  expect(await (await client.get(`/v1/store/orders/${order.id}`)).json()).toEqual(order);
  expect(await client.animal(petId)).toEqual(["pending", '"2"']);
});

// Promise: quantity-is-one
test("a quantity of 1 is accepted in every notation", async () => {
  for (const quantity of ["1", "1.0", "1e0"]) {
    const petId = await client.addAnimal();
    const order = await expectJson(await client.place(`{"petId": ${petId}, "quantity": ${quantity}, "x": 1}`), 201);
    expect(order).toMatchObject({ petId, quantity: 1 });
  }
});

test.each([
  ["no animal", {}, /^petId is required: an integer from -2\^63 to 2\^63 - 1\.$/],
  ["an animal that is null", { petId: null }, /^petId has to be an integer/],
  ["an animal that is text", { petId: "1" }, /^petId has to be an integer/],
  ["an animal that is a fraction", { petId: 1.5 }, /^petId has to be an integer/],
  ["an animal beyond 2^63", '{"petId": 9223372036854775808}', /^petId has to be an integer/],
  ["a quantity of two", { petId: 1, quantity: 2 }, /^quantity has to be 1\.$/],
  ["a quantity of none", { petId: 1, quantity: 0 }, /^quantity has to be 1\.$/],
  ["a quantity that is null", { petId: 1, quantity: null }, /^quantity has to be 1\.$/],
  ["a quantity that is text", { petId: 1, quantity: "1" }, /^quantity has to be 1\.$/],
  ["an array", "[]", /JSON object/],
])("there cannot be %s", async (_, body, message) => {
  expect(await expectError(await client.place(body), "invalid_request")).toMatch(message);
});

describe("an animal is not available", () => {
  test.each(["pending", "sold"])("when it is %s", async (status) => {
    const petId = await client.addAnimal(status);
    await expectError(await client.place({ petId }), "pet_not_available");
    expect([await statesOf(petId), await client.animal(petId)]).toEqual([[], [status, '"1"']]);
  });

  test.each(["999999999", "9223372036854775807", "-1", "0"])("when there is no animal %s", async (petId) => {
    await expectError(await client.place(`{"petId": ${petId}}`), "pet_not_available");
  });

  test("when an order holds it", async () => {
    const { petId } = await client.placeNew();
    await expectError(await client.place({ petId }), "pet_not_available");
    expect([await statesOf(petId), await client.animal(petId)]).toEqual([["placed"], ["pending", '"2"']]);
  });

  // Promise: shipped-animals-are-not-ordered, sold-animals
  test("when it was shipped, even if an earlier version made it available, until it is sold again", async () => {
    const { petId, path: order } = await client.placeNew();
    await client.ship(order);
    await expectError(await client.place({ petId }), "pet_not_available");
    const path = `/v1/pets/${petId}`;
    const item = { externalId: "sold", name: "Rex", categoryId: 1 };
    const put = (status: string) =>
      call("/v1/pets/batch", { method: "PUT", key: client.key, body: [{ ...item, status }] });
    for (const change of [put, (status: string) => client.patch(path, { status })]) {
      await env.DB.prepare("UPDATE pets SET status = 'available', external_id = 'sold' WHERE id = ?").bind(petId).run();
      await expectError(await client.place({ petId }), "pet_not_available");
      await expectError(await change("pending"), "pet_on_order");
      expect((await change("sold")).status).toBe(200);
      expect(await client.animal(petId)).toMatchObject(["sold", expect.any(String)]);
    }
    expect(await statesOf(petId)).toEqual(["shipped"]);
  });
});

// Promise: the-index-refuses-a-second-order
test("the database itself refuses a second order that is not cancelled", async () => {
  const { petId } = await client.placeNew();
  const insert = (status: string) =>
    env.DB.prepare("INSERT INTO orders (pet_id, status, created_at, ship_date) VALUES (?, ?, 'x', 'x')")
      .bind(petId, status)
      .run();
  await expect(insert("placed")).rejects.toThrow(/UNIQUE/);
  await expect(insert("shipped")).rejects.toThrow(/UNIQUE/);
  expect((await insert("cancelled")).success).toBe(true);
});
