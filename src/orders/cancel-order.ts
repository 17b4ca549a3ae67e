import { and, eq, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { sequence } from "../db/sequence.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { compileEvent } from "../feed/event.ts";
import { removes } from "../changes/handlers.ts";
import { hasVersion, type Target } from "../changes/version.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { isMet, preconditionFailed } from "../http/precondition.ts";
import { moveAnimal, noSuchOrder, order, orderId } from "./order.ts";
import { orders } from "./table.ts";

const cancel = compile((db, parameter: Parameter<Target>) =>
  db
    .update(orders)
    .set({ status: "cancelled", version: sql`${orders.version} + 1` })
    .where(and(eq(orders.id, parameter("id")), eq(orders.status, "placed"), hasVersion(orders.version, parameter)))
    .returning({ cancelled: sql<1>`1`.as("cancelled") }),
);
const recordCancellation = compileEvent("order.cancelled", order);
const freeAnimal = moveAnimal("available");
const select = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ status: orders.status, version: orders.version })
    .from(orders)
    .where(eq(orders.id, parameter("id"))),
);

export const cancelOrder = createHandlers(
  guard("store:write"),
  removes("cancelOrder", orderId, async (session, target, { ifMatch, ifNoneMatch }) => {
    const statements = [
      ...sequence(cancel(target), recordCancellation(target), ...freeAnimal(target)),
      select(target),
    ] as const;
    // An order never returns to `placed`, so a second run changes nothing. If-None-Match may refuse the version that the first one made.
    const isRepeatable = ifNoneMatch === undefined;
    const [[cancelled], , , , [order]] = await (isRepeatable
      ? session.writeRepeatably(statements)
      : session.writeOnce(statements));
    if (cancelled !== undefined) return;
    if (order === undefined) throw noSuchOrder();
    if (order.status === "shipped") throw new ApiError("order_shipped", "This order is shipped.");
    const isCancelled = order.status === "cancelled" && isMet({ ifMatch: undefined, ifNoneMatch }, order.version);
    // A retry names the version that the order had before its cancellation. The reference may have changed since.
    const isKnown = ifMatch?.some((version) => version <= order.version) !== false;
    if (!isCancelled || !isKnown) throw preconditionFailed();
  }),
);
