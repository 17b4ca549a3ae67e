import { customerOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { readOne } from "../http/read.ts";
import { noSuchOrder, orderId, selectOrder } from "./order.ts";

export const getOrder = createHandlers(
  guard("store:read", "orders:own"),
  readOne("getOrder", (c) => selectOrder({ id: orderId(c), customer: customerOf(c) }), noSuchOrder),
);
