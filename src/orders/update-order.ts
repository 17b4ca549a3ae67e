import { and, eq, ne, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { storedColumns } from "../db/resource.ts";
import { sequence } from "../db/sequence.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { type Attempt } from "../idempotency/attempt.ts";
import { isUnused } from "../idempotency/entry.ts";
import { compileEvent } from "../feed/event.ts";
import { now } from "../db/clock.ts";
import { patches } from "../changes/handlers.ts";
import { compilePatch, compileStore } from "../changes/patch.ts";
import { hasVersion, type Target } from "../changes/version.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { toTimestamp } from "../exact/timestamp.ts";
import { createHandlers } from "../operation.ts";
import { jsonObject, nameField, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { moveAnimal, noSuchOrder, order, orderId } from "./order.ts";
import { orders } from "./table.ts";

/** Add new fields at the end (`valuesOf`). */
export const orderPatch = lazy(() =>
  jsonObject({
    status: z.optional(z.literal("shipped", rule('"shipped"'))),
    shipDate: z.optional(parsed<string, string>(toTimestamp, rule("a time in RFC 3339"))),
    reference: z.optional(z.nullable(nameField())),
  }).check(
    z.refine(({ status, shipDate }) => shipDate === undefined || status !== undefined, {
      path: ["status"],
      error: 'is required beside shipDate: "shipped"',
    }),
  ),
);

interface Shipment extends Target {
  shipDate: string | null;
  /** Null removes it. Without effect on a shipment that keeps it. */
  reference: string | null;
}

/** The statements of a shipment, which keeps the reference of the order or changes it too. */
function compileShipment(changesReference: boolean) {
  const ship = (db: QueryBuilder, parameter: Parameter<Shipment>, more?: SQL) =>
    db
      .update(orders)
      .set({
        status: "shipped",
        shipDate: sql`coalesce(${parameter("shipDate")}, ${now})`,
        version: sql`${orders.version} + 1`,
        ...(changesReference && { reference: sql`${parameter("reference")}` }),
      })
      .where(
        and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter), more),
      )
      .returning({ changed: sql<1>`1`.as("changed") });
  return {
    ship: compile((db, parameter: Parameter<Shipment>) => ship(db, parameter)),
    shipOnce: compile((db, parameter: Parameter<Shipment & Attempt>) => ship(db, parameter, isUnused(db, parameter))),
    // An order that is shipped already may yet get the reference: then `relabelShipped` stores the entry.
    store: compileStore(order, (_db, parameter: Parameter<Shipment & Attempt>) =>
      and(
        ne(orders.status, "cancelled"),
        changesReference ? sql`${orders.reference} IS ${parameter("reference")}` : undefined,
      ),
    ),
  };
}

const shipment = compileShipment(false);
const relabellingShipment = compileShipment(true);
const recordShipment = compileEvent("order.shipped", order);
const sellAnimal = moveAnimal("sold");

const labelled = { ...order, fields: { reference: nameField } };
const relabel = compilePatch(labelled, "order.updated");
const relabelShipped = compilePatch(labelled, "order.updated", () => eq(orders.status, "shipped"));

/** A shipment, with what follows from it. If the order is shipped already, its reference may change. */
function patchOrder(target: Target, values: z.output<ReturnType<typeof orderPatch>>, attempt: Attempt | undefined) {
  const { status, shipDate = null, reference } = values;
  if (status === undefined) return relabel(target, { reference }, attempt);
  const { ship, shipOnce, store } = reference === undefined ? shipment : relabellingShipment;
  const parameters = { ...target, shipDate, reference: reference ?? null };
  const consequences = [recordShipment(target), ...sellAnimal(target)];
  const shipping =
    attempt === undefined
      ? sequence(ship(parameters), ...consequences)
      : sequence(shipOnce({ ...parameters, ...attempt }), ...consequences, store.after({ ...parameters, ...attempt }));
  return reference === undefined ? shipping : [...shipping, ...relabelShipped(target, { reference }, attempt)];
}

const select = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ ...storedColumns(order), status: orders.status })
    .from(orders)
    .where(eq(orders.id, parameter("id"))),
);

export const updateOrder = createHandlers(
  guard("store:write"),
  ...patches("updateOrder", orderPatch, {
    id: orderId,
    patch: patchOrder,
    select,
    missing: noSuchOrder,
    conflict: (row, { status }) =>
      status !== undefined && row.status === "cancelled"
        ? new ApiError("order_cancelled", "This order is cancelled.")
        : undefined,
    // Without a precondition, a shipment is repeatable: an order is placed once, so a second run finds nothing to change. A second run
    // with a reference would undo the change of somebody else in between.
    isRepeatable: ({ ifMatch, ifNoneMatch }, { reference }) =>
      ifMatch === undefined && ifNoneMatch === undefined && reference === undefined,
  }),
);
