import { and, eq, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { hasVersion, type Target, type Versions, versionsParameter } from "../changes/patch.ts";
import { ApiError } from "../errors.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { ifMatch, preconditionFailed } from "../http/precondition.ts";
import { noContent } from "../http/respond.ts";
import { moveAnimal, noSuchOrder, orderId, selectOrder } from "./order.ts";
import { orders } from "./table.ts";

const cancel = compile((db, parameter: Parameter<Target>) =>
  db
    .update(orders)
    .set({ status: "cancelled", version: sql`${orders.version} + 1` })
    .where(and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter))),
);
const freeAnimal = moveAnimal("available");

export const cancelOrder = createHandlers(guard("store:write"), async (c) => {
  const versions = ifMatch(c);
  const session = openSession(c);
  const target = { id: orderId(c), versions: versionsParameter(versions) };
  // Repeatable: an order never returns to `placed`, so a second run changes nothing.
  const [, , [order]] = await session.writeRepeatably([cancel(target), freeAnimal(target), selectOrder(target)]);
  if (order === undefined) throw noSuchOrder();
  if (order.status === "shipped") throw new ApiError("order_shipped", "This order is shipped.");
  if (order.status === "placed" || !wasCancelledAt(order.version, versions)) throw preconditionFailed();
  return noContent(c);
});

/** Whether a cancelled order has one of the versions, or had it just before its cancellation. */
function wasCancelledAt(version: number, versions: Versions): boolean {
  return versions === undefined || versions.includes(version) || versions.includes(version - 1);
}
