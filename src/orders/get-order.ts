import { and, eq } from "drizzle-orm";
import { type Stored, storedColumns } from "../db/resource.ts";
import { compile, type Parameter } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { customerOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { readOne } from "../http/read.ts";
import { isReachedBy, noSuchOrder, order, type Order, orderId } from "./order.ts";
import { orders } from "./table.ts";

const select = compile<{ id: Int64; customer: string | null }, Stored<Order>[]>(
  "getOrder.select",
  (db, parameter: Parameter<{ id: Int64; customer: string | null }>) =>
    db
      .select(storedColumns(order))
      .from(orders)
      .where(and(eq(orders.id, parameter("id")), isReachedBy(parameter("customer")))),
);

export const getOrder = createHandlers(
  guard("store:read", "orders:own"),
  readOne("getOrder", (c) => select({ id: orderId(c), customer: customerOf(c) }), noSuchOrder),
);
