import type { NewOrder, OrderPatch } from "../client/src/index.ts";
import { NOTHING, once, patch, post, REMOVE, rows } from "./cost.ts";
import { create, idOf, newAnimal, newOrder, type OnceRequest, type Service, unique } from "./once.ts";
import type { Rows } from "./row.ts";
import { etags, fetching, maxAge, placedWithin, referenceOf, removing, sort, target, type Whole } from "./simulated.ts";

const SHIP_DATES = ["2026-11-22T09:30:00.000Z", "2026-11-23T09:30:00.000Z"];
const ORDERS = "/v1/store/orders";
const SHIP = { status: "shipped" };

const anOrder = async (service: Service) => newOrder(service, await newAnimal(service));
const timestamp = (at: number) => new Date(Math.floor(at)).toISOString();
const disturb = () => ({ reference: unique() });

async function cancelled({ send }: Service, { path }: OnceRequest): Promise<["order_cancelled"]> {
  await send("DELETE", path);
  return ["order_cancelled"];
}

export const orders = {
  placeOrder: {
    scope: "orders:place",
    tool: ["add", { petId: "3", reference: "cart" }],
    sample: async (store) => {
      const { order } = await store.orders.place({ petId: 2n });
      console.log(order.id, order.status);
    },
    costs: {
      "a placement": [rows(14, 9), 201, ORDERS, post({ petId: 21 })],
      "a placement with an Idempotency-Key": [rows(18, 11), 201, ORDERS, post({ petId: 22 }, once("placement"))],
      "a retry of a placement": [rows(8), 201, ORDERS, post({ petId: 23 }, once("order"))],
      "a placement for an animal on order": [rows(7), 409, ORDERS, post({ petId: 23 })],
      "a placement with a reference": [rows(14, 10), 201, ORDERS, post({ petId: 26, reference: "basket" })],
      "a placement for a customer": [rows(14, 10), 201, ORDERS, post({ petId: 29, customer: "ada" })],
      "a placement with a token": [rows(19, 10), 201, ORDERS, { ...post({ petId: 30 }), customer: "ada" }],
      "a placement with a token and an Idempotency-Key": [
        rows(25, 12),
        201,
        ORDERS,
        { ...post({ petId: 31 }, once("ada")), customer: "ada" },
      ],
      "a placement of a customer with too many orders": [
        rows(27),
        409,
        ORDERS,
        { ...post({ petId: 32 }), customer: "bo" },
      ],
    },
    invalid: {},
    once: [
      {
        async prepare(service) {
          const [petId, other] = [idOf(await newAnimal(service)), idOf(await newAnimal(service))];
          return {
            path: ORDERS,
            body: { petId },
            same: `{"quantity": 1.0, "petId": ${petId}}`,
            others: [{ petId: other }, { petId, reference: "cart" }, { petId, customer: "ada" }],
          };
        },
        events: 2,
        disturb: () => SHIP,
        conflict: async (service, { body }) => ["pet_not_available", await create(service, ORDERS, body)],
      },
    ],
    world: {
      weight: 14,
      prepare({ random, known, idempotencyKey, customer, customers }) {
        const petId = BigInt(known.id(random, "pets"));
        const isNamed = random.chance(0.4);
        const order = {
          petId,
          // Every order is for one animal. It may be said.
          quantity: isNamed ? 1 : undefined,
          reference: isNamed && customer === undefined ? referenceOf(random) : undefined,
          customer: random.chance(0.3) && customers.length > 0 ? (customer ?? random.pick(customers)) : undefined,
        } satisfies Whole<NewOrder>;
        return (client) => client.orders.place(order, { idempotencyKey });
      },
      answer: ({ body, key, token }, model, at) =>
        model.placeOrder({ ...body, petId: Number(body["petId"]) }, timestamp(at), key, token),
    },
  },
  getOrder: {
    scope: "store:read",
    tool: ["read", { orderId: "1" }],
    sample: async (store) => {
      const { order } = await store.orders.get(1n);
      console.log(order.status);
    },
    costs: {
      "an order": [rows(1), 200, `${ORDERS}/1`],
      "an order of a customer": [rows(1), 200, `${ORDERS}/6`, { customer: "bo" }],
      "an order of another customer": [rows(1), 404, `${ORDERS}/6`, { customer: "ada" }],
    },
    world: {
      weight: 5,
      prepare: fetching("store/orders", (client, id, options) => client.orders.get(id, options)),
      answer: ({ id, met, token }, model) => model.getOrder(id, met, token?.customer),
    },
  },
  updateOrder: {
    scope: "orders:manage",
    tool: ["change", { orderId: "1", status: "shipped" }],
    sample: async (store) => {
      const { order } = await store.orders.ship(1n);
      console.log(order.shipDate);
    },
    costs: {
      "a shipment": [rows(11, 8), 200, `${ORDERS}/2`, patch(SHIP)],
      "a shipment repeated": [rows(3), 200, `${ORDERS}/2`, patch(SHIP)],
      "a new reference": [rows(5, 3), 200, `${ORDERS}/4`, patch({ reference: "cart" })],
      "another reference": [rows(5, 3), 200, `${ORDERS}/5`, patch({ reference: "invoice" })],
      "another customer": [rows(5, 3), 200, `${ORDERS}/2`, patch({ customer: "cy" })],
      "the same reference": [rows(3), 200, `${ORDERS}/5`, patch({ reference: "invoice" })],
      "a shipment with another reference": [
        rows(13, 9),
        200,
        `${ORDERS}/5`,
        patch({ status: "shipped", reference: "cart" }),
      ],
      "a shipment with an Idempotency-Key": [rows(16, 10), 200, `${ORDERS}/1`, patch(SHIP, once("shipment"))],
      "a patch of an order that changes nothing, with an Idempotency-Key": [
        rows(8, 2),
        200,
        `${ORDERS}/1`,
        patch({}, once("empty")),
      ],
    },
    invalid: { status: "gone" },
    once: [
      {
        prepare: async (service) => ({
          path: await anOrder(service),
          body: SHIP,
          same: { x: 1, status: "shipped" },
          others: [
            {},
            { status: "shipped", shipDate: "2026-11-22T09:30:00Z" },
            { status: "shipped", reference: "cart" },
            { status: "shipped", reference: null },
          ],
        }),
        nothing: {},
        events: 2,
        disturb: () => SHIP,
        conflict: cancelled,
      },
      {
        name: "with a reference",
        prepare: async (service) => ({
          path: await anOrder(service),
          body: { reference: "cart" },
          same: '{"x": 1, "reference": "c\\u0061rt"}',
          others: [{ reference: "Cart" }, { reference: null }, { reference: "cart", status: "shipped" }, {}],
        }),
        nothing: { reference: null },
        events: 1,
        disturb,
      },
      {
        name: "with a shipment and a reference",
        prepare: async (service) => ({
          path: await anOrder(service),
          body: { status: "shipped", reference: "cart" },
          same: { reference: "cart", x: 1, status: "shipped" },
          others: [{ reference: "cart" }, SHIP, { status: "shipped", reference: null }, {}],
        }),
        nothing: { reference: null },
        events: 2,
        disturb,
        conflict: cancelled,
      },
      {
        name: "with a shipment of a shipped order and a reference",
        async prepare(service) {
          const path = await anOrder(service);
          // A shipped order of the version that a new one has.
          await service.run(`UPDATE orders SET status = 'shipped', ship_date = created_at WHERE id = ${idOf(path)}`);
          return {
            path,
            body: { status: "shipped", reference: "cart" },
            same: { reference: "cart", x: 1, status: "shipped" },
            others: [{ reference: "cart" }, SHIP, { status: "shipped", reference: null }, {}],
          };
        },
        nothing: { status: "shipped", reference: null },
        events: 1,
        disturb,
      },
    ],
    world: {
      weight: 9,
      prepare(call) {
        const { random, idempotencyKey, customers } = call;
        const { id, ...versions } = target(call, "store/orders");
        const isForOthers = random.chance(0.3) && customers.length > 0;
        const changes = random.weighted({ status: 4, reference: 4, both: 3 });
        const ships = changes !== "reference";
        const patch = {
          status: ships ? "shipped" : undefined,
          shipDate: ships && random.chance(0.3) ? random.pick(SHIP_DATES) : undefined,
          reference: changes === "status" ? undefined : random.pick([null, referenceOf(random)]),
          customer: isForOthers ? random.pick([null, ...customers]) : undefined,
        } satisfies Whole<OrderPatch>;
        return (client) => client.orders.update(id, patch, { ...versions, idempotencyKey });
      },
      answer: ({ id, body, met, key }, model, at) => model.patchOrder(id, body, met, key, timestamp(at)),
    },
  },
  listOrders: {
    scope: "store:read",
    tool: ["read", { petId: "1" }],
    sample: async (store) => {
      for await (const order of store.orders.list({ status: "placed" })) {
        console.log(order.id, order.petId);
      }
    },
    costs: {
      "a list of orders": [rows(21), 200, ORDERS],
      "a list of the orders of an animal": [rows(2), 200, `${ORDERS}?petId=23`],
      "a list of the orders with a reference": [rows(4), 200, `${ORDERS}?reference=cart`],
      "a list of the placed orders with a reference": [rows(2), 200, `${ORDERS}?reference=cart&status=placed`],
      "a list of the orders of a customer": [rows(8), 200, `${ORDERS}?customer=bo&limit=5`],
      "a list of the placed orders of a customer": [rows(6), 200, `${ORDERS}?customer=bo&status=placed&limit=5`],
      "a list of the orders of a time": [
        rows(39),
        200,
        `${ORDERS}?createdAfter=2020-01-01T00:00:00Z&createdBefore=2100-01-01T00:00:00Z&limit=10`,
      ],
      "a list with a token": [rows(8), 200, `${ORDERS}?limit=5`, { customer: "bo" }],
    },
    world: {
      weight: 3,
      prepare({ random, known, customer, customers }) {
        const filters = [{}, { petId: BigInt(known.id(random, "pets")) }, { reference: referenceOf(random) }];
        const ofCustomers = customers.map((one) => ({ customer: one }));
        const own = [{}, { customer }];
        const query = {
          ...(random.chance(0.3) && { status: random.pick(["placed", "shipped", "cancelled"] as const) }),
          ...(customer === undefined ? random.pick([...filters, ...ofCustomers.slice(0, 2)]) : random.pick(own)),
          ...placedWithin(random, known),
          ...sort(random),
          ...etags(random),
          limit: random.between(5, 100),
        };
        const age = maxAge(random);
        return (client) => client.orders.list(query, age).page();
      },
      answer({ query, view, token }, model) {
        const petId = query.has("petId") ? Number(query.get("petId")) : undefined;
        const [status, reference, createdAfter, createdBefore] = [
          "status",
          "reference",
          "createdAfter",
          "createdBefore",
        ].map((name) => query.get(name) ?? undefined);
        const customer = token?.customer ?? query.get("customer") ?? undefined;
        return model.listOrders({ status, petId, reference, customer, createdAfter, createdBefore }, view);
      },
    },
  },
  cancelOrder: {
    scope: "orders:manage",
    tool: ["change", { orderId: "2" }],
    sample: async (store) => {
      await store.orders.cancel(2n);
    },
    costs: {
      "a cancellation": [rows(11, 8), 204, `${ORDERS}/3`, REMOVE],
      "a cancellation repeated": [rows(3), 204, `${ORDERS}/3`, REMOVE],
      "a cancellation of an order with a reference": [rows(11, 9), 204, `${ORDERS}/4`, REMOVE],
      "a cancellation with a token": [rows(11, 9), 204, `${ORDERS}/6`, { ...REMOVE, customer: "bo" }],
      "a cancellation of an order of another customer": [rows(3), 404, `${ORDERS}/7`, { ...REMOVE, customer: "ada" }],
    },
    world: {
      weight: 6,
      prepare: removing("store/orders", (client, id, versions) => client.orders.cancel(id, versions)),
      answer: ({ id, met, token }, model) => model.cancelOrder(id, met, token?.customer),
    },
  },
  getInventory: {
    scope: "store:read",
    tool: ["read", {}],
    sample: async (store) => {
      const { inventory, age } = await store.orders.inventory();
      console.log(inventory.available, age);
    },
    costs: {
      "an inventory of 803 animals": [rows(809, 1), 200, "/v1/store/inventory"],
      "an inventory from memory": [NOTHING, 200, "/v1/store/inventory"],
      "an inventory that another isolate counted": [rows(3), 200, "/v1/store/inventory"],
    },
    world: {
      weight: 2,
      prepare: () => (client) => client.orders.inventory(),
      answer: (_asked, model, at) => model.inventory(Math.floor(at)),
    },
  },
} satisfies Rows;
