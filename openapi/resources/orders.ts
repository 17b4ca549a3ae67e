// The description of the orders.
import type { SchemaObject } from "openapi3-ts/oas31";
import {
  CUSTOMER_TEXT,
  ALL_DIGITS,
  INT64,
  fieldsOf,
  int32,
  listed,
  NAME,
  object,
  objectSchema,
  openList,
  pageParameters,
  ref,
  type Resource,
  arrayOf,
  added,
  ok,
  values,
} from "../describe.ts";
import { MAX_BODY_BYTES } from "../../src/http/body.ts";
import { MAX_URL_LENGTH } from "../../src/http/query.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { PET_STATUSES } from "../../src/pets/table.ts";
import { COUNT_MILLISECONDS, COUNTED_A_SECOND } from "../../src/orders/get-inventory.ts";
import { newOrder } from "../../src/orders/place-order.ts";
import { ORDER_STATUSES } from "../../src/orders/table.ts";
import { orderPatch } from "../../src/orders/update-order.ts";

const PLACED = {
  id: 1,
  petId: 3,
  quantity: 1,
  status: "placed",
  createdAt: "2026-11-22T09:30:00.000Z",
  shipDate: null,
  complete: false,
};
const REFERENCE = "cart-7F3A";
const CUSTOMER_ID = "c_8f2Kq0";
const NAMED = { ...PLACED, reference: REFERENCE, customer: CUSTOMER_ID };
/** What the example of a placement makes, and that of a cancellation ends. */
const SECOND = { ...PLACED, id: 2, petId: 2 };
const SHIPPED = { ...NAMED, status: "shipped", shipDate: "2026-11-23T16:00:00.000Z", complete: true };
const ORDER_ID = { orderId: { description: "Identifier of the order.", schema: INT64, example: PLACED.id } };

const INVENTORY = { available: 2509, pending: 12, sold: 77 };

const TIME: SchemaObject = { type: "string", format: "date-time", maxLength: 40 };
/** As long as an address may be. */
const UTC: SchemaObject = { ...TIME, maxLength: MAX_URL_LENGTH, pattern: "Z$" };
const IN_UTC = "RFC 3339 in UTC, with `Z`.";
const petId: SchemaObject = { ...INT64, description: "Identifier of the animal.", examples: [PLACED.petId] };
const quantity: SchemaObject = {
  ...int32(1, 1),
  description: "Always 1: each animal is unique.",
  examples: [PLACED.quantity],
};
const reference: SchemaObject = {
  type: "string",
  ...NAME,
  description:
    "The shop's own name for the order, for example of its cart or invoice. Returned as it came, byte for byte. Several orders may have the same. Absent when there is none.",
  examples: [REFERENCE],
};

const customer: SchemaObject = {
  type: "string",
  ...CUSTOMER_TEXT,
  description:
    "The shop's own name for whom the order is for: an opaque id, and no mail address. Visible ASCII, compared byte for byte. Absent when there is none. [Browsers and phones](/docs/browsers) explains it.",
  examples: [CUSTOMER_ID],
};

const order: SchemaObject = object("An order for one animal.", PLACED, {
  id: { ...INT64, description: "Unique identifier, assigned by the service.", examples: [PLACED.id] },
  petId,
  quantity,
  status: {
    description: "State of the order. The list may grow while the group is beta: accept states that you do not know.",
    ...openList("OrderStatus"),
    examples: [PLACED.status],
  },
  createdAt: { ...TIME, description: "When the order was placed, in UTC.", examples: [PLACED.createdAt] },
  shipDate: {
    description: "When the order was shipped, in UTC. `null` until then.",
    anyOf: [TIME, { type: "null" }],
    examples: [SHIPPED.shipDate],
  },
  complete: { type: "boolean", description: "Whether the order is shipped.", examples: [PLACED.complete] },
  reference,
  customer,
});

export const orders: Resource = {
  tag: {
    name: "Store",
    description:
      "Orders for animals. Placing an order needs an `available` animal and makes it `pending` in the same transaction. Cancelling the order makes the animal `available` again, and shipping it makes the animal `sold`. An animal has at most one order that is not cancelled. [Selling an animal](/docs/orders) explains the states.",
  },
  missing: "There is no order with this id.",
  schemas: {
    NewOrder: fieldsOf(
      "An order to place. Other fields are ignored.",
      objectSchema(newOrder(), {
        petId: { ...petId, description: `${petId.description} ${ALL_DIGITS}` },
        quantity,
        reference,
        customer,
      }),
      { petId: PLACED.petId },
    ),
    OrderPatch: {
      type: "object",
      description: "Ships an order, changes its reference and its customer, or all of it. Other fields are ignored.",
      ...objectSchema(orderPatch(), {
        status: { type: "string", const: "shipped", description: "The new status.", examples: ["shipped"] },
        shipDate: {
          ...TIME,
          maxLength: MAX_BODY_BYTES,
          description:
            "When the order was shipped, in RFC 3339. Decimals of a second after the third are dropped. Defaults to the current time. Allowed only together with `status`.",
          examples: [SHIPPED.shipDate],
        },
        reference: {
          ...NAME,
          description: "The new reference, in every state of the order. `null` removes it.",
          examples: [REFERENCE],
        },
        customer: {
          ...CUSTOMER_TEXT,
          description: "The new customer, in every state of the order. `null` removes it.",
          examples: [CUSTOMER_ID],
        },
      }),
      // The types of openapi3-ts lack this keyword of JSON Schema.
      ...({ dependentRequired: { shipDate: ["status"] } } satisfies object),
      examples: [{ status: "shipped" }],
    },
    Order: order,
    ListedOrder: listed(order),
    Orders: arrayOf("ListedOrder", "Orders in the order of the request.", MAX_LIMIT, [PLACED]),
    Inventory: object(
      "The number of animals of each status.",
      INVENTORY,
      Object.fromEntries(
        PET_STATUSES.map((status) => [
          status,
          {
            ...int32(0, 2 ** 31 - 1),
            description: `The number of animals whose status is \`${status}\`.`,
            examples: [INVENTORY[status]],
          },
        ]),
      ),
    ),
    OrderStatus: values(ORDER_STATUSES, "The states of an order in this version."),
  },
  operations: {
    listOrders: {
      stability: "beta",
      summary: "List orders",
      agents: {
        description:
          "Lists orders, also those of one animal, one reference or one customer, but of one of these, and those of a time. getOrder is for a known id.",
        without: ["include"],
      },
      description:
        "Returns orders in ascending order of id, or as `sort` says. If there are more, the `Link` header holds the address of the next page, with the same parameters. A list ignores preconditions.",
      parameters: {
        ...pageParameters("orders"),
        status: { description: "Only the orders in this state.", schema: ref("OrderStatus"), example: PLACED.status },
        petId: { description: "Only the orders of this animal.", schema: INT64, example: PLACED.petId },
        reference: {
          description: "Only the orders with exactly this reference. Not together with `petId`.",
          schema: { type: "string", ...NAME },
          example: REFERENCE,
        },
        customer: {
          description:
            "Only the orders of this customer. Not together with `petId` or `reference`. A customer token lists those of its own customer, also without it.",
          schema: { type: "string", ...CUSTOMER_TEXT },
          example: CUSTOMER_ID,
        },
        createdAfter: {
          description: `Only the orders that were placed at this time or later: ${IN_UTC}`,
          schema: UTC,
          example: "2026-11-22T00:00:00Z",
        },
        createdBefore: {
          description: `Only the orders that were placed before this time, and not at it: ${IN_UTC} The two together are a day, and the next day begins where it ends.`,
          schema: UTC,
          example: "2026-11-23T00:00:00Z",
        },
      },
      success: ok("Orders.", "Orders", [NAMED]),
      // What an importer gets that sends every parameter.
      errors: { invalid_request: "reference cannot be beside petId; customer cannot be beside petId or reference." },
    },
    placeOrder: {
      stability: "beta",
      summary: "Place an order",
      agents: {
        description:
          "Orders an available animal, the first step of a sale: the animal is pending, and nobody else can order it. reference is the shop's own name of the order, for example of its cart.",
        without: ["quantity"],
      },
      description:
        "Orders an animal that is available. With an `Idempotency-Key`, the order is placed exactly once, and a retry returns the first response, even if the order has changed since. With a customer token, the order is for the customer of the token, and has no `reference`.",
      idempotencyKey: "order",
      body: { description: "An order", schema: "NewOrder", example: { petId: SECOND.petId } },
      success: added("The order is placed, and its animal is pending.", "Order", SECOND),
      errors: {
        invalid_request: "petId is required: an integer from -2^63 to 2^63 - 1.",
        pet_not_available: "The animal does not exist, is not available, or was sold by an order.",
        order_limit: "The customer has as many placed orders as the token allows.",
      },
    },
    getOrder: {
      stability: "beta",
      summary: "Fetch an order",
      agents: { description: "Returns an order and its state: placed, shipped or cancelled." },
      description:
        "Returns an order, also one that is cancelled. For a customer token, an order of anybody else does not exist.",
      parameters: ORDER_ID,
      success: ok("The order.", "Order", NAMED),
    },
    getInventory: {
      stability: "experimental",
      summary: "Count the animals",
      agents: {
        description:
          "Counts the animals of each status. The count is some seconds old: listPets shows a change at once.",
      },
      description: `Returns the number of animals of each status. A count reads an index entry for each animal, so the service counts at most once in ${COUNT_MILLISECONDS / 1_000} seconds, and not more than ${COUNTED_A_SECOND.toLocaleString("en")} animals a second. Otherwise it returns the last count. \`Age\` tells how old the count is. It may miss your own writes, also with a bookmark.`,
      success: ok("The numbers of animals.", "Inventory", INVENTORY),
    },
    updateOrder: {
      stability: "experimental",
      summary: "Ship an order, or change its reference or customer",
      agents: {
        description:
          "Ships a placed order: its animal is sold, which nothing undoes. Or changes reference or customer, which null removes. Shipping it again changes nothing.",
        words: { shipDate: "RFC 3339, now unless given; only with status" },
      },
      description:
        "Ships a placed order and marks its animal as sold. An order that is already shipped changes only its `reference` and its `customer`, if the request names them. A cancelled order can change them too, and nothing of it changes when the request also names `status`.",
      parameters: ORDER_ID,
      idempotencyKey: "change",
      body: { description: "The change", schema: "OrderPatch", example: { status: "shipped" } },
      success: ok("The whole order.", "Order", SHIPPED),
      errors: {
        invalid_request: 'status has to be "shipped".',
        order_cancelled: "This order is cancelled.",
      },
    },
    cancelOrder: {
      stability: "beta",
      summary: "Cancel an order",
      agents: {
        description:
          "Cancels a placed order: its animal is available again. A shipped order cannot be cancelled. Cancelling it again changes nothing.",
      },
      description:
        "Cancels a placed order and makes its animal available again. The order remains in the list, with the status `cancelled`. An order that is already cancelled does not change. For a customer token, an order of anybody else does not exist.",
      parameters: { orderId: { ...ORDER_ID.orderId, example: SECOND.id } },
      success: { status: 204, description: "The order is cancelled." },
      errors: {
        order_shipped: "This order is shipped.",
      },
    },
  },
};
