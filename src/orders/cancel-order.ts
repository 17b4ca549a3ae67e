import { and, eq, sql } from "drizzle-orm";
import { removes } from "../changes/handlers.ts";
import { changedRow, changeFirst, compileEvents, run } from "../changes/plan.ts";
import { hasVersion, type Target } from "../changes/version.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { customerOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { isMet, preconditionFailed } from "../http/precondition.ts";
import { createHandlers } from "../operation.ts";
import { isPlaced, isReachedBy, compileMove, noSuchOrder, order, orderId } from "./order.ts";
import { orders } from "./table.ts";

interface OfCustomer {
  customer: string | null;
}

const cancel = compile("cancelOrder.change", (db, parameter: Parameter<Target & OfCustomer>) =>
  db
    .update(orders)
    .set({ status: "cancelled", version: sql`${orders.version} + 1` })
    .where(
      and(
        eq(orders.id, parameter("id")),
        isPlaced,
        isReachedBy(parameter("customer")),
        hasVersion(orders.version, parameter),
      ),
    )
    .returning({ cancelled: sql<1>`1`.as("cancelled") }),
);
const record = compileEvents("cancelOrder.record", order, "order.cancelled", (_db, parameter: Parameter<Target>) =>
  changedRow(orders, parameter("id")),
);
const release = compileMove("cancelOrder", "available");
const select = compile("cancelOrder.select", (db, parameter: Parameter<{ id: Int64 } & OfCustomer>) =>
  db
    .select({ status: orders.status, version: orders.version })
    .from(orders)
    .where(and(eq(orders.id, parameter("id")), isReachedBy(parameter("customer")))),
);

export const cancelOrder = createHandlers(
  guard("orders:manage", "orders:own"),
  removes("cancelOrder", orderId, async (call, row, { ifMatch, ifNoneMatch }) => {
    const target = { ...row, customer: customerOf(call.c) };
    // An order never returns to `placed`, so a second run changes nothing. If-None-Match may refuse the version that the first one made.
    const isRepeatable = ifNoneMatch === undefined;
    const plan = changeFirst({ change: cancel(target), events: record(target), companions: release(target) });
    const { changed, found } = await run(call, [plan], select(target), isRepeatable);
    if (changed.length > 0) return;
    const [order] = found;
    if (order === undefined) throw noSuchOrder();
    if (order.status === "shipped") throw new ApiError("order_shipped", "This order is shipped.");
    const isCancelled = order.status === "cancelled" && isMet({ ifMatch: undefined, ifNoneMatch }, order.version);
    // A retry names the version that the order had before its cancellation. The reference may have changed since.
    const isKnown = ifMatch?.some((version) => version <= order.version) !== false;
    if (!isCancelled || !isKnown) throw preconditionFailed();
  }),
);
