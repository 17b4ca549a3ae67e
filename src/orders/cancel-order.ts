import { and, eq, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { applyChange, hasVersion, isInEffect, versionsParameter } from "../changes/patch.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { ifMatch, preconditionFailed } from "../http/precondition.ts";
import { noContent } from "../http/respond.ts";
import { moveAnimal, noSuchOrder, orderId, selectOrder } from "./order.ts";
import { orders } from "./table.ts";

const CANCELLED = { status: "cancelled" } as const;

const cancel = compile((db, parameter: Parameter<{ id: Int64; versions: string | null }>) =>
  db
    .update(orders)
    .set({ ...CANCELLED, version: sql`${orders.version} + 1` })
    .where(and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter))),
);
const freeAnimal = moveAnimal("available");

export const cancelOrder = createHandlers(guard("store:write"), async (c) => {
  const versions = ifMatch(c);
  const session = openSession(c);
  const id = orderId(c);
  const changes = [cancel({ id, versions: versionsParameter(versions) }), freeAnimal({ id })];
  // Repeatable: an order is placed once, so a second run finds nothing to change.
  const order = await applyChange(session, changes, selectOrder({ id }), true);
  if (order === undefined) throw noSuchOrder();
  if (order.status === "shipped") throw new ApiError("order_shipped", "This order is shipped.");
  if (!isInEffect(order, CANCELLED, versions)) throw preconditionFailed();
  return noContent(c);
});
