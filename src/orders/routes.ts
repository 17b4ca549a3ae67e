import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import { cancelOrder } from "./cancel-order.ts";
import { getOrder } from "./get-order.ts";
import { listOrders } from "./list-orders.ts";
import { placeOrder } from "./place-order.ts";
import { updateOrder } from "./update-order.ts";

export const orders = new Hono<AppEnv>()
  .get("/", ...listOrders)
  .post("/", ...placeOrder)
  .get("/:orderId", ...getOrder)
  .patch("/:orderId", ...updateOrder)
  .delete("/:orderId", ...cancelOrder);
