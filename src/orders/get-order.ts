import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { readOne } from "../http/read.ts";
import { noSuchOrder, orderId, selectOrder } from "./order.ts";

export const getOrder = createHandlers(
  guard("store:read"),
  readOne("getOrder", (c) => selectOrder({ id: orderId(c) }), noSuchOrder),
);
