import { createRoutes } from "../operation.ts";
import { cancelOrder } from "./cancel-order.ts";
import { getInventory } from "./get-inventory.ts";
import { getOrder } from "./get-order.ts";
import { listOrders } from "./list-orders.ts";
import { placeOrder } from "./place-order.ts";
import { updateOrder } from "./update-order.ts";

export const store = createRoutes()
  .get("/orders", ...listOrders)
  .post("/orders", ...placeOrder)
  .get("/inventory", ...getInventory)
  .get("/orders/:orderId", ...getOrder)
  .patch("/orders/:orderId", ...updateOrder)
  .delete("/orders/:orderId", ...cancelOrder);
