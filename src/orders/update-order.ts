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
import { compileStore, type Patch } from "../changes/patch.ts";
import { hasVersion, type Target } from "../changes/version.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { toTimestamp } from "../exact/timestamp.ts";
import { createHandlers } from "../operation.ts";
import { jsonObject, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { moveAnimal, noSuchOrder, order, orderId } from "./order.ts";
import { orders } from "./table.ts";

export const orderPatch = lazy(() =>
  jsonObject({
    status: z.optional(z.literal("shipped", rule('"shipped"'))),
    shipDate: z.optional(parsed<string, string>(toTimestamp, rule("a time in RFC 3339"))),
  }).check(
    z.refine(({ status, shipDate }) => shipDate === undefined || status !== undefined, {
      path: ["status"],
      error: 'is required beside shipDate: "shipped"',
    }),
  ),
);

interface Shipment extends Target {
  shipDate: string | null;
}

const ship = (db: QueryBuilder, parameter: Parameter<Shipment>, more?: SQL) =>
  db
    .update(orders)
    .set({
      status: "shipped",
      shipDate: sql`coalesce(${parameter("shipDate")}, ${now})`,
      version: sql`${orders.version} + 1`,
    })
    .where(
      and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter), more),
    )
    .returning({ changed: sql<1>`1`.as("changed") });

const shipOrder = compile((db, parameter: Parameter<Shipment>) => ship(db, parameter));
const shipOrderOnce = compile((db, parameter: Parameter<Shipment & Attempt>) =>
  ship(db, parameter, isUnused(db, parameter)),
);
const recordShipment = compileEvent("order.shipped", order);
const sellAnimal = moveAnimal("sold");
const storeShipment = compileStore(order, () => ne(orders.status, "cancelled"));
const storeNothing = compileStore(order, () => undefined);

/** The statements of a shipment, or of a patch that names no status. */
function patchOrder(shipment: Shipment, changes: boolean, attempt: Attempt | undefined): Patch {
  const consequences = [recordShipment(shipment), ...sellAnimal(shipment)];
  if (attempt === undefined)
    return { statements: changes ? sequence(shipOrder(shipment), ...consequences) : [], changes };
  const once = { ...shipment, ...attempt };
  const statements = changes
    ? sequence(shipOrderOnce(once), ...consequences, storeShipment.after(once))
    : [storeNothing.alone(once)];
  return { statements, changes };
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
    patch: (target, { status, shipDate = null }, attempt) =>
      patchOrder({ ...target, shipDate }, status !== undefined, attempt),
    select,
    missing: noSuchOrder,
    conflict: (row, { status }) =>
      status !== undefined && row.status === "cancelled"
        ? new ApiError("order_cancelled", "This order is cancelled.")
        : undefined,
    // Without a precondition it is repeatable: an order is placed once, so a second run finds nothing to change.
    isRepeatable: ({ ifMatch, ifNoneMatch }) => ifMatch === undefined && ifNoneMatch === undefined,
  }),
);
