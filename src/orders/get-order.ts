import { guard } from "../http/guard.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { setEntityTag } from "../http/precondition.ts";
import { json } from "../http/respond.ts";
import { noSuchOrder, orderId, selectOrder, toOrder } from "./order.ts";

export const getOrder = createHandlers(guard("store:read"), async (c) => {
  const session = openSession(c);
  const [order] = await session.read(selectOrder({ id: orderId(c) }));
  if (order === undefined) throw noSuchOrder();
  setEntityTag(c, order.version);
  return json(c, toOrder(order), 200);
});
