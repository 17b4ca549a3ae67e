import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { expectError, expectJson } from "../support/client.ts";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { Client, statesOf } from "./store.ts";

let client: Client;
let path: string;
let petId: number;
beforeAll(async () => {
  client = await Client.create();
});
beforeEach(async () => {
  ({ path, petId } = await client.placeNew());
});

const order = async () => (await client.get(path)).json<{ status: string; shipDate: string | null }>();
const tag = async () => (await client.get(path)).headers.get("ETag");

describe("shipping", () => {
  // Promise: complete-when-shipped, states-of-an-order
  test("completes the order and sells the animal", async () => {
    const placed = await order();
    const response = await client.patch(path, { status: "shipped" });
    const shipped = (await expectJson(response, 200)) as { shipDate: string };
    expect(shipped).toEqual({ ...placed, status: "shipped", shipDate: expect.any(String), complete: true });
    expect(Math.abs(Date.parse(shipped.shipDate) - Date.now())).toBeLessThan(60_000);
    expect(response.headers.get("ETag")).toBe('"2"');
    expect(await order()).toEqual(shipped);
    expect(await client.animal(petId)).toEqual(["sold", '"3"']);
  });

  // Promise: times-of-an-order
  test.each([
    ["2026-11-22T09:30:00Z", "2026-11-22T09:30:00.000Z"],
    ["2026-11-22t09:30:00.5z", "2026-11-22T09:30:00.500Z"],
    ["2026-11-22T00:30:00.123+02:00", "2026-11-21T22:30:00.123Z"],
    ["2026-11-22T09:30:00.123999Z", "2026-11-22T09:30:00.123Z"],
    ["2026-11-22T09:30:00.999999999+00:00", "2026-11-22T09:30:00.999Z"],
    [`2026-11-22T09:30:00.${"0".repeat(5_000)}1Z`, "2026-11-22T09:30:00.000Z"],
    ["2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59.000Z"],
    ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("may say when: %s is %s", async (shipDate, stored) => {
    const shipped = await expectJson(await client.patch(path, { status: "shipped", shipDate }), 200);
    expect(shipped).toMatchObject({ shipDate: stored });
    expect(await order()).toMatchObject({ shipDate: stored });
  });

  test.each([
    null,
    5,
    "",
    "2026-11-22",
    "2026-11-22T09:30Z",
    "2026-11-22T09:30:00",
    "2026-11-22 09:30:00Z",
    "2026-02-29T09:30:00Z",
    "2026-13-01T09:30:00Z",
    "2026-11-22T24:00:00Z",
    "2026-11-22T24:00:01Z",
    "2026-11-22T09:60:00Z",
    "2026-12-31T23:59:60Z",
    "2026-11-22T09:30:00.Z",
    "2026-11-22T09:30:00123Z",
    "2026-11-22T09:30:00,5Z",
    "2026-11-22T09:30:00+24:00",
    "0000-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-00:01",
    "+002026-11-22T09:30:00Z",
    "Sun, 22 Nov 2026 09:30:00 GMT",
  ])("cannot say %j", async (shipDate) => {
    expect(await expectError(await client.patch(path, { status: "shipped", shipDate }), "invalid_request")).toBe(
      "shipDate has to be a time in RFC 3339.",
    );
    expect(await order()).toMatchObject({ status: "placed" });
  });

  test.each(["placed", "cancelled", "delivered", "Shipped", null, 1])(
    "is the only change of the status: %j",
    async (status) => {
      expect(await expectError(await client.patch(path, { status }), "invalid_request")).toBe(
        'status has to be "shipped".',
      );
    },
  );

  test("a date alone ships nothing", async () => {
    const response = await client.patch(path, { shipDate: "2026-11-22T09:30:00Z" });
    expect(await expectError(response, "invalid_request")).toBe('status is required beside shipDate: "shipped".');
  });

  // Promise: shipments-can-be-repeated, states-of-an-order
  test("again changes nothing, not even the date", async () => {
    const first = await (await client.ship(path)).text();
    for (const body of [{ status: "shipped" }, { status: "shipped", shipDate: "2000-01-01T00:00:00Z" }, {}]) {
      const response = await client.patch(path, body);
      expect([response.status, await response.text(), response.headers.get("ETag")]).toEqual([200, first, '"2"']);
    }
    expect(await client.animal(petId)).toEqual(["sold", '"3"']);
  });

  // Promise: order-of-refusals, races-of-orders
  test("a cancelled order is refused, and its animal does not change", async () => {
    await client.delete(path);
    await expectError(await client.ship(path), "order_cancelled");
    await expectError(await client.patch(path, { status: "shipped" }, { "If-Match": '"9"' }), "order_cancelled");
    expect(await client.animal(petId)).toEqual(["available", '"3"']);
    expect((await client.patch(path, {})).status).toBe(200);
  });

  // Promise: one-of-equal-changes-wins
  test("honours If-Match", async () => {
    const shipDate = "2026-11-22T09:30:00Z";
    await expectError(await client.patch(path, { status: "shipped" }, { "If-Match": '"2"' }), "precondition_failed");
    await expectError(await client.patch(path, {}, { "If-Match": '"2"' }), "precondition_failed");
    const shipped = await client.patch(path, { status: "shipped", shipDate }, { "If-Match": 'W/"1"' });
    expect(shipped.headers.get("ETag")).toBe('"2"');
    const other = { status: "shipped", shipDate: "2026-11-23T09:30:00Z" };
    await expectError(await client.patch(path, other, { "If-Match": '"1"' }), "precondition_failed");
    expect((await client.patch(path, other, { "If-Match": '"2"' })).status).toBe(200);
    expect(await order()).toMatchObject({ shipDate: "2026-11-22T09:30:00.000Z" });
  });
});

describe("cancelling", () => {
  // Promise: states-of-an-order
  test("makes the animal available, and the order remains as cancelled", async () => {
    const placed = await order();
    const response = await client.delete(path);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(await order()).toEqual({ ...placed, status: "cancelled" });
    expect(await tag()).toBe('"2"');
    expect(await client.animal(petId)).toEqual(["available", '"3"']);
  });

  // Promise: shipments-can-be-repeated, states-of-an-order
  test("again gets the same response, and changes neither the order nor the animal", async () => {
    await client.delete(path);
    expect((await client.delete(path)).status).toBe(204);
    expect([await tag(), await client.animal(petId)]).toEqual(['"2"', ["available", '"3"']]);
    await client.patch(`/v1/pets/${petId}`, { status: "sold" });
    expect((await client.delete(path)).status).toBe(204);
    expect(await client.animal(petId)).toEqual(["sold", '"4"']);
  });

  // Promise: races-of-orders
  test("again does not free the animal of a later order", async () => {
    await client.delete(path);
    await client.place({ petId });
    expect((await client.delete(path)).status).toBe(204);
    expect([await statesOf(petId), await client.animal(petId)]).toEqual([
      ["cancelled", "placed"],
      ["pending", '"4"'],
    ]);
  });

  test("again succeeds even if the animal is deleted", async () => {
    await client.delete(path);
    await client.delete(`/v1/pets/${petId}`);
    expect((await client.delete(path)).status).toBe(204);
    expect(await order()).toMatchObject({ petId, status: "cancelled" });
  });

  // Promise: races-of-orders
  test("a shipped order is refused", async () => {
    await client.ship(path);
    await expectError(await client.delete(path), "order_shipped");
    await expectError(await client.delete(path, { "If-Match": '"9"' }), "order_shipped");
    expect([await statesOf(petId), await client.animal(petId)]).toEqual([["shipped"], ["sold", '"3"']]);
  });

  // Promise: deletions-can-be-repeated, one-of-equal-changes-wins
  test("honours If-Match, and the retry of a lost response", async () => {
    await expectError(await client.delete(path, { "If-Match": '"2"' }), "precondition_failed");
    expect(await order()).toMatchObject({ status: "placed" });
    for (const given of ['"1"', '"1"', '"2"', "*"]) {
      expect((await client.delete(path, { "If-Match": given })).status).toBe(204);
    }
    await expectError(await client.delete(path, { "If-Match": '"3"' }), "precondition_failed");
  });
});

describe("an order and its animal agree", () => {
  // Promise: orders-and-animals-agree, orders-hold-the-animal, placed-orders-hold-the-status
  test("no placed order loses its animal", async () => {
    for (const body of [
      { status: "available" },
      { status: "sold" },
      { status: "pending" },
      { name: "Max", status: "sold" },
    ]) {
      await expectError(await client.patch(`/v1/pets/${petId}`, body), "pet_on_order");
    }
    await expectError(
      await client.patch(`/v1/pets/${petId}`, { status: "sold" }, { "If-Match": '"9"' }),
      "pet_on_order",
    );
    await expectError(await client.delete(`/v1/pets/${petId}`), "pet_on_order");
    await expectError(await client.delete(`/v1/pets/${petId}`, { "If-Match": '"9"' }), "pet_on_order");
    expect(await client.animal(petId)).toEqual(["pending", '"2"']);
  });

  // Promise: placed-orders-hold-the-status
  test("other fields of an animal on order can change", async () => {
    expect((await client.patch(`/v1/pets/${petId}`, { name: "Max", categoryId: 5 })).status).toBe(200);
    expect((await client.ship(path)).status).toBe(200);
  });

  // Promise: orders-hold-the-animal, states-of-an-order
  // Nobody could order it.
  test("an animal that is shipped cannot change its status, and cannot be deleted", async () => {
    await client.ship(path);
    await expectError(await client.patch(`/v1/pets/${petId}`, { status: "available" }), "pet_on_order");
    expect((await client.patch(`/v1/pets/${petId}`, { status: "sold", name: "Max" })).status).toBe(200);
    await expectError(await client.delete(`/v1/pets/${petId}`), "pet_on_order");
  });

  test("an animal whose orders are cancelled can be deleted", async () => {
    await client.delete(path);
    expect((await client.delete(`/v1/pets/${petId}`)).status).toBe(204);
    await expectError(await client.place({ petId }), "pet_not_available");
  });
});

describe("a failure of D1", () => {
  beforeAll(() => {
    vi.spyOn(scheduler, "wait").mockResolvedValue();
  });

  test("that is transient is retried", async () => {
    const message = TRANSIENT_ERRORS[0] ?? "";
    for (const when of ["before", "after"] as const) {
      const shipped = await client.placeNew();
      expect((await client.patch(shipped.path, { status: "shipped" }, {}, { when, message })).status).toBe(200);
      expect(await client.animal(shipped.petId)).toEqual(["sold", '"3"']);
      const cancelled = await client.placeNew();
      expect((await client.delete(cancelled.path, { "If-Match": '"1"' }, { when, message })).status).toBe(204);
      expect(await client.animal(cancelled.petId)).toEqual(["available", '"3"']);
    }
  });

  // Promise: orders-and-animals-agree
  test("that is permanent leaves the order and its animal consistent", async () => {
    const message = LASTING_ERRORS[0] ?? "";
    await expectError(await client.delete(path, {}, { when: "after", message }), "service_unavailable");
    expect([await statesOf(petId), await client.animal(petId)]).toEqual([["cancelled"], ["available", '"3"']]);
  });
});
