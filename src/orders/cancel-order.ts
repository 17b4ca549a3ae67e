import { and, eq, type SQL, sql } from "drizzle-orm";
import { removes } from "../changes/handlers.ts";
import { run } from "../changes/plan.ts";
import { compileUpdate } from "../changes/update.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { customerOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { isMet, preconditionFailed } from "../http/precondition.ts";
import { createHandlers } from "../operation.ts";
import { isPlaced, isReachedBy, compileMove, noSuchOrder, order, orderId } from "./order.ts";
import { orders } from "./table.ts";

const cancellation = compileUpdate("cancelOrder", { ...order, fields: { status: true } }, "order.cancelled", {
  missing: noSuchOrder,
  required: "status",
  differs: and(isPlaced, isReachedBy(sql.placeholder("customer"))) as SQL,
  companions: compileMove("cancelOrder", "available"),
});
const select = compile("cancelOrder.select", (db, parameter: Parameter<{ id: Int64; customer: string | null }>) =>
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
    const plans = cancellation.plans(target, { status: "cancelled" }, undefined);
    const { changed, found } = await run(call, plans, select(target), isRepeatable);
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
