import { and, eq, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { applyChange, hasVersion, isInEffect, versionsParameter } from "../changes/patch.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { toTimestamp } from "../exact/timestamp.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { ifMatch, preconditionFailed, setEntityTag } from "../http/precondition.ts";
import { json } from "../http/respond.ts";
import { jsonObject, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { moveAnimal, noSuchOrder, now, orderId, selectOrder, toOrder } from "./order.ts";
import { orders } from "./table.ts";

export const orderPatch = lazy(() =>
  jsonObject({
    status: z.optional(z.literal("shipped", rule('"shipped"'))),
    shipDate: z.optional(
      parsed<string, string>(toTimestamp, rule("a time in RFC 3339 with at most three decimals of a second")),
    ),
  }).check(
    z.refine(({ status, shipDate }) => shipDate === undefined || status !== undefined, {
      path: ["status"],
      error: 'is required beside shipDate: "shipped"',
    }),
  ),
);

const shipOrder = compile((db, parameter: Parameter<{ id: Int64; versions: string | null; shipDate: string | null }>) =>
  db
    .update(orders)
    .set({
      status: "shipped",
      shipDate: sql`coalesce(${parameter("shipDate")}, ${now})`,
      version: sql`${orders.version} + 1`,
    })
    .where(and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter))),
);
const sellAnimal = moveAnimal("sold");

export const updateOrder = createHandlers(guard("store:write"), jsonBody(orderPatch, MERGE_PATCH), async (c) => {
  const patch = c.req.valid("json");
  const versions = ifMatch(c);
  const session = openSession(c);
  const id = orderId(c);
  const parameters = { id, versions: versionsParameter(versions), shipDate: patch.shipDate ?? null };
  const changes = patch.status === undefined ? [] : [shipOrder(parameters), sellAnimal({ id })];
  // Repeatable: an order is placed once, so a second run finds nothing to change.
  const order = await applyChange(session, changes, selectOrder({ id }), true);
  if (order === undefined) throw noSuchOrder();
  if (patch.status !== undefined && order.status === "cancelled") {
    throw new ApiError("order_cancelled", "This order is cancelled.");
  }
  if (!isInEffect(order, patch, versions)) throw preconditionFailed();
  setEntityTag(c, order.version);
  return json(c, toOrder(order), 200);
});
