import type { ReadOptions, RequestOptions } from "./options.ts";
import * as fields from "./fields.ts";
import { fits } from "./fits.ts";
import type { Int64Input } from "./int64.ts";
import type { List } from "./list.ts";
import {
  type ChangeOptions,
  type Created,
  type CreateOptions,
  type GetOptions,
  type Got,
  Resource,
  type Scope,
  type UpdateOptions,
} from "./requests.ts";
import type { Etags, Inventory, Listed, NewOrder, Order, OrderPatch, OrderQuery, WithEtags } from "./shapes.ts";

/** The orders for animals. */
export class Orders {
  readonly #orders: Resource<"order", Order>;

  constructor(scope: Scope) {
    this.#orders = new Resource<"order", Order>(scope, "/store/orders", "order", fields.Order);
  }

  /**
   * Lists orders.
   *
   * @beta
   */
  list<Asked extends Etags = false>(
    query: OrderQuery & WithEtags<Asked> = {},
    options: ReadOptions = {},
  ): List<Listed<Order, Asked>> {
    return this.#orders.list("listOrders", query, options);
  }

  /**
   * Places an order, exactly once. The code `pet_not_available` tells that somebody else has the animal, and `order_limit` that the
   * customer of the token has too many placed orders.
   *
   * @beta
   */
  async place(order: NewOrder, options: CreateOptions = {}): Promise<Created & { order: Order }> {
    return this.#orders.create("placeOrder", order, options);
  }

  /**
   * Fetches an order.
   *
   * @beta
   */
  async get<Etag extends string | undefined = never>(
    id: Int64Input,
    options: GetOptions<Etag> = {},
  ): Promise<Got<{ order: Order }, Etag>> {
    return this.#orders.get("getOrder", id, options);
  }

  /**
   * Counts the animals of each status. The service counts at most every ten seconds, and a large store less often: `age` is the age of the count in seconds.
   *
   * @experimental
   */
  async inventory(options: RequestOptions = {}): Promise<{ inventory: Inventory; age: number }> {
    const expects = fits(fields.Inventory);
    const call = { ...options, operation: "getInventory", method: "GET", path: "/store/inventory", expects } as const;
    const { value, headers } = await this.#orders.send(call);
    return { inventory: value as Inventory, age: Number(headers.get("Age")) };
  }

  /**
   * Changes an order: ships it, changes its reference or its customer, or all of it. One that is `null` is removed.
   *
   * @experimental
   */
  async update(id: Int64Input, patch: OrderPatch, options: UpdateOptions = {}): Promise<Created & { order: Order }> {
    return this.#orders.change("updateOrder", id, patch, options);
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
    return this.update(id, { status: "shipped", shipDate }, options);
  }

  /**
   * Cancels an order that is not shipped, and makes its animal available again.
   *
   * @beta
   */
  async cancel(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    // The order stays, so that a 404 is an error.
    await this.#orders.remove("cancelOrder", this.#orders.pathOf(id), options, false);
  }
}
