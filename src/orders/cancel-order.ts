import { and, eq, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { compileEvent } from "../changes/event.ts";
import { hasVersion, type Target, versionsParameters } from "../changes/patch.ts";
import { ApiError } from "../errors.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { isMet, preconditionFailed, preconditionsOf } from "../http/precondition.ts";
import { noBody } from "../http/respond.ts";
import { moveAnimal, noSuchOrder, orderId, orderJson, selectOrder } from "./order.ts";
import { orders } from "./table.ts";

const cancel = compile((db, parameter: Parameter<Target>) =>
  db
    .update(orders)
    .set({ status: "cancelled", version: sql`${orders.version} + 1` })
    .where(and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter)))
    .returning({ cancelled: sql<1>`1`.as("cancelled") }),
);
const recordCancellation = compileEvent("order.cancelled", orders, orderJson);
const freeAnimal = moveAnimal("available");

export const cancelOrder = createHandlers(guard("store:write"), async (c) => {
  const preconditions = preconditionsOf(c);
  const session = openSession(c);
  const target = { id: orderId(c), ...versionsParameters(preconditions) };
  const statements = [cancel(target), recordCancellation(target), ...freeAnimal(target), selectOrder(target)] as const;
  // An order never returns to `placed`, so a second run changes nothing. If-None-Match may refuse the version that the first one made.
  const isRepeatable = preconditions.ifNoneMatch === undefined;
  const [[cancelled], , , , [order]] = await (isRepeatable
    ? session.writeRepeatably(statements)
    : session.writeOnce(statements));
  if (cancelled !== undefined) return noBody(c, 204);
  if (order === undefined) throw noSuchOrder();
  if (order.status === "shipped") throw new ApiError("order_shipped", "This order is shipped.");
  // A retry names the version that the order had just before its cancellation.
  const { ifMatch, ifNoneMatch } = preconditions;
  const matches = (version: number) => isMet({ ifMatch, ifNoneMatch: undefined }, version);
  const isCancelled = order.status === "cancelled" && isMet({ ifMatch: undefined, ifNoneMatch }, order.version);
  if (!isCancelled || !(matches(order.version) || matches(order.version - 1))) throw preconditionFailed();
  return noBody(c, 204);
});
