import type { RequestOptions } from "./options.ts";
import { ORDER } from "./fields.ts";
import type { Int64Input } from "./int64.ts";
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
  readonly #scope: ResourceScope<"order", Order>;

  constructor(scope: Scope) {
    this.#scope = { ...scope, path: "/store/orders", name: "order", fields: ORDER };
  }

  /**
   * Lists orders.
   *
   * @beta
   */
  list(query: OrderQuery = {}, options: RequestOptions = {}): List<Order> {
    return new List(this.#scope, "listOrders", query, options);
  }

  /**
   * Places an order, exactly once. The code `pet_not_available` tells that somebody else has the animal.
   *
   * @beta
   */
  async place(order: NewOrder, options: CreateOptions = {}): Promise<Created & { order: Order }> {
    return create(this.#scope, "placeOrder", order, options);
  }

  /**
   * Fetches an order.
   *
   * @beta
   */
  async get(id: Int64Input, options: RequestOptions = {}): Promise<Versioned & { order: Order }> {
    return get(this.#scope, "getOrder", id, options);
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
    return change(this.#scope, "updateOrder", id, patch, options);
  }

  /**
   * Cancels an order that is not shipped, and makes its animal available again.
   *
   * @beta
   */
  async cancel(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    // The order stays, so that a 404 is an error.
    await remove(this.#scope, "cancelOrder", id, options, false);
  }
}
