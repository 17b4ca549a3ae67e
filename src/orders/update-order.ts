import { and, eq, ne, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { type Attempt, idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { compileEvent } from "../changes/event.ts";
import { isUnknown } from "../changes/memory.ts";
import { now } from "../db/clock.ts";
import {
  applyPatch,
  hasVersion,
  type Patch,
  rememberPatch,
  type Target,
  versionsParameters,
} from "../changes/patch.ts";
import { respondWithPatch } from "../changes/respond.ts";
import { ApiError } from "../errors.ts";
import { toTimestamp } from "../exact/timestamp.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { preconditionsOf } from "../http/precondition.ts";
import { jsonObject, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { moveAnimal, noSuchOrder, orderId, orderJson, selectOrder, toOrder } from "./order.ts";
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
  ship(db, parameter, isUnknown(db, parameter)),
);
const recordShipment = compileEvent("order.shipped", orders, orderJson);
const sellAnimal = moveAnimal("sold");
/** The last statement: shipping a shipped order writes a row here, which must not sell an animal. */
const rememberShipment = compile((db, parameter: Parameter<Target & Attempt>) =>
  rememberPatch(db, parameter, orders, orderJson(), ne(orders.status, "cancelled")),
);
const rememberNothing = compile((db, parameter: Parameter<Target & Attempt>) =>
  rememberPatch(db, parameter, orders, orderJson(), undefined, false),
);

/** The statements of a shipment, or of a patch that names no status. */
function patchOrder(shipment: Shipment, ships: boolean, attempt: Attempt | undefined): Patch {
  const consequences = [recordShipment(shipment), ...sellAnimal(shipment)];
  if (attempt === undefined) return { changes: ships ? [shipOrder(shipment), ...consequences] : [] };
  const once = { ...shipment, ...attempt };
  return ships
    ? { changes: [shipOrderOnce(once), ...consequences], remember: rememberShipment(once) }
    : { changes: [], remember: rememberNothing(once) };
}

export const updateOrder = createHandlers(guard("store:write"), jsonBody(orderPatch, MERGE_PATCH), async (c) => {
  const patch = c.req.valid("json");
  const preconditions = preconditionsOf(c);
  const values = valuesOf(orderPatch(), patch);
  const attempt = await idempotentAttempt(c, "updateOrder", c.req.param("orderId"), preconditions, ...values);
  const session = openSession(c);
  const shipment = { id: orderId(c), ...versionsParameters(preconditions), shipDate: patch.shipDate ?? null };
  const statements = patchOrder(shipment, patch.status !== undefined, attempt);
  // Without a precondition it is repeatable: an order is placed once, so a second run finds nothing to change.
  const isRepeatable = preconditions.ifMatch === undefined && preconditions.ifNoneMatch === undefined;
  const outcome = await applyPatch(session, statements, selectOrder(shipment), attempt, isRepeatable);
  return respondWithPatch(c, outcome, preconditions, toOrder, noSuchOrder, ({ status }) =>
    patch.status !== undefined && status === "cancelled"
      ? new ApiError("order_cancelled", "This order is cancelled.")
      : undefined,
  );
});
