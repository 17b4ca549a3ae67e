import type { RequestOptions } from "./connection.ts";
import { ORDER } from "./fields.ts";
import { type Int64Input, toDigits } from "./int64.ts";
import { List } from "./list.ts";
import {
  change,
  type ChangeOptions,
  create,
  type Created,
  type CreateOptions,
  get,
  remove,
  type ResourceScope,
  type Scope,
  type UpdateOptions,
  type Versioned,
} from "./requests.ts";
import type { NewOrder, Order, OrderPatch, OrderQuery } from "./shapes.ts";

/** The orders for animals. */
export class Orders {
  readonly #scope: ResourceScope;

  constructor(scope: Scope) {
    this.#scope = { ...scope, fields: ORDER };
  }

  /**
   * Lists orders.
   *
   * @beta
   */
  list(query: OrderQuery = {}, options: RequestOptions = {}): List<Order> {
    return new List(this.#scope, { operation: "listOrders", path: "/store/orders", query, options });
  }

  /**
   * Places an order, exactly once. The code `pet_not_available` tells that somebody else has the animal.
   *
   * @beta
   */
  async place(order: NewOrder, options: CreateOptions = {}): Promise<Created & { order: Order }> {
    const { item, ...rest } = await create<Order>(this.#scope, "placeOrder", "/store/orders", order, options);
    return { order: item, ...rest };
  }

  /**
   * Fetches an order.
   *
   * @beta
   */
  async get(id: Int64Input, options: RequestOptions = {}): Promise<Versioned & { order: Order }> {
    const { item, ...rest } = await get<Order>(this.#scope, "getOrder", pathOf(id), options);
    return { order: item, ...rest };
  }

  /**
   * Ships an order, at the given time or now.
   *
   * @experimental
   */
  async ship(
    id: Int64Input,
    { shipDate, ...options }: UpdateOptions & Pick<OrderPatch, "shipDate"> = {},
  ): Promise<Created & { order: Order }> {
    const patch: OrderPatch = { status: "shipped", shipDate };
    const { item, ...rest } = await change<Order>(this.#scope, "updateOrder", pathOf(id), patch, options);
    return { order: item, ...rest };
  }

  /**
   * Cancels an order that is not shipped, and makes its animal available again.
   *
   * @beta
   */
  async cancel(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    // The order stays, so that a 404 is an error.
    await remove(this.#scope, "cancelOrder", pathOf(id), options, false);
  }
}

function pathOf(id: Int64Input): string {
  return `/store/orders/${toDigits(id)}`;
}
