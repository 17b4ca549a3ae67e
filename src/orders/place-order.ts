import { and, eq, exists, type Placeholder, type SQLWrapper, sql } from "drizzle-orm";
import type { Context } from "hono";
import * as z from "zod/mini";
import { creates } from "../changes/handlers.ts";
import { compileInsert } from "../changes/insert.ts";
import { compileCompanion } from "../changes/plan.ts";
import type { Rule } from "../changes/rule.ts";
import type { Parameter, QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { apiKeyOf, customerOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { now } from "../db/clock.ts";
import { ApiError } from "../errors.ts";
import { toInt64 } from "../exact/json.ts";
import { createHandlers } from "../operation.ts";
import { customerField, int64Field, jsonObject, nameField, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { pet } from "../pets/shape.ts";
import { pets } from "../pets/table.ts";
import { checkCustomer, isPlaced, order } from "./order.ts";
import { activeOrder, orders } from "./table.ts";

/** Add new fields at the end (`valuesOf`). */
export const newOrder = lazy(() =>
  jsonObject({
    petId: int64Field(),
    quantity: z._default(
      parsed<1, 1>((value) => (toInt64(value) === "1" ? 1 : undefined), rule("1")),
      1,
    ),
    reference: z.optional(nameField()),
    customer: z.optional(customerField()),
  }),
);

/** The order and the status of its animal change together. */
const holdAnimal = compileCompanion(
  "placeOrder.pet",
  pet,
  "pet.updated",
  { status: "pending" },
  (_db, parameter: Parameter<{ petId: unknown }>) => parameter("petId"),
);

const columns = (field: (name: "petId" | "reference" | "customer") => SQLWrapper) => ({
  petId: pets.id,
  status: sql`'placed'`,
  createdAt: now,
  shipDate: sql`NULL`,
  reference: sql`${field("reference")}`,
  customer: sql`${field("customer")}`,
});
const from = {
  table: pets,
  where: (field: (name: "petId") => SQLWrapper) => and(eq(pets.id, field("petId")), eq(pets.status, "available")),
};
const isOrdered = (db: QueryBuilder) => exists(activeOrder(db, pets.id));
const notAvailable = () =>
  new ApiError("pet_not_available", "The animal does not exist, is not available, or was sold by an order.");

const placement = compileInsert("placeOrder", order, "order.placed", columns, {
  from,
  rule: { isBroken: isOrdered, error: notAvailable },
  companions: holdAnimal,
});

/** Whether the customer has as many placed orders as the token allows. It reads no more of them. */
const isAtLimit: Rule<"customer" | "maxPlaced">["isBroken"] = (db, { value }) => {
  const placed = db
    .select({ one: sql`1` })
    .from(orders)
    .where(and(sql`${orders.customer} = ${value("customer")}`, isPlaced))
    .limit(value("maxPlaced") as Placeholder<string, number>);
  return sql`(SELECT count(*) FROM ${placed}) >= ${value("maxPlaced")}`;
};

const placementOfCustomer = compileInsert(
  "placeOrder.ofCustomer",
  order,
  "order.placed",
  (field: (name: "petId" | "reference" | "customer" | "maxPlaced") => SQLWrapper) => columns(field),
  {
    from,
    rule: {
      isBroken: (db, after) => sql`(${isAtLimit(db, after)} OR ${isOrdered(db)})`,
      reason: isAtLimit,
      error: (_c, isAtLimit) =>
        isAtLimit
          ? new ApiError("order_limit", "The customer has as many placed orders as the token allows.")
          : notAvailable(),
    },
    companions: holdAnimal,
  },
);

type NewOrder = z.output<ReturnType<typeof newOrder>>;

/**
 * An order as it is placed: of a request with a token, it is for the customer of the token. A customer gives no reference, which could be
 * that of another one.
 *
 * @throws ApiError `invalid_request`
 */
function ofCustomer(c: Context<AppEnv>, order: NewOrder): NewOrder {
  const customer = customerOf(c);
  if (customer === null) return order;
  if (order.reference !== undefined) throw new ApiError("invalid_request", "reference is not for customer tokens.");
  checkCustomer(order.customer, customer);
  return { ...order, customer };
}

export const placeOrder = createHandlers(
  guard("orders:place", "orders:place"),
  ...creates(
    "placeOrder",
    newOrder,
    (call, { petId, reference = null, customer = null }) => {
      const fields = { petId, reference, customer };
      const { token } = apiKeyOf(call.c);
      return token === undefined
        ? placement(call, fields)
        : placementOfCustomer(call, { ...fields, maxPlaced: token.maxPlaced });
    },
    ofCustomer,
  ),
);
