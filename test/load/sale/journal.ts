import type { Order } from "../../../src/orders/order.ts";
import type { PetStatus } from "../../../src/pets/table.ts";

/** A request that is repeated until it has a response, or until its client gives up. */
export interface Attempts {
  /** The number of attempts without a response, which may have taken effect. */
  lost: number;
}

export interface Placement extends Attempts {
  petId: number;
  idempotencyKey: string;
  /** The order in the response. */
  order?: Order;
  /** Whether the response says that the animal is not available. */
  isRefused: boolean;
}

/** Each also sets a new name, so that it changes the animal whatever its status is. */
export interface StatusPatch extends Attempts {
  petId: number;
  status: PetStatus;
  /** The version of the animal in the response. */
  version?: number;
}

/** The final states of an order. */
export type Ending = "shipped" | "cancelled";

/** All requests and responses of the clients of a sale. */
export class Journal {
  readonly animals = new Set<number>();
  readonly placements: Placement[] = [];
  readonly patches: StatusPatch[] = [];
  /** The orders in the responses. */
  readonly orders: Order[] = [];
  /** The final state of each order, by its id. */
  readonly endings = new Map<number, Ending>();
  /** The animals that are deleted for certain, and those whose deletion got no response. */
  readonly deleted = new Set<number>();
  readonly perhapsDeleted = new Set<number>();
  /** Undocumented responses, and responses that contradict each other. */
  readonly mistakes: string[] = [];
  readonly #counts = new Map<string, number>();

  count(event: string): void {
    this.#counts.set(event, (this.#counts.get(event) ?? 0) + 1);
  }

  /** How often each event happened. */
  get figures(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  recordEnding(orderId: number, ending: Ending): void {
    const known = this.endings.get(orderId) ?? ending;
    if (known !== ending) this.mistakes.push(`Order ${orderId} was said to be ${known}, and later ${ending}.`);
    this.endings.set(orderId, ending);
  }

  recordOrder(placement: Placement, order: Order): void {
    if (order.petId !== placement.petId || order.status !== "placed") {
      this.mistakes.push(`The order for animal ${placement.petId} is ${JSON.stringify(order)}.`);
    }
    placement.order = order;
    this.orders.push(order);
  }
}
