import { guard } from "../http/guard.ts";
import { createHandlers } from "../create-handlers.ts";
import { toFound } from "../http/found.ts";
import { respondToRead } from "../http/read.ts";
import { noSuchOrder, orderId, selectOrder, toOrder } from "./order.ts";

export const getOrder = createHandlers(guard("store:read"), (c) =>
  respondToRead(c, async (session) => {
    const [order] = await session.read(selectOrder({ id: orderId(c) }));
    if (order === undefined) throw noSuchOrder();
    return toFound(order, toOrder);
  }),
);
