import { randomUUID } from "node:crypto";
import type { Order } from "../../../src/orders/order.ts";
import { PET_STATUSES } from "../../../src/pets/table.ts";
import type { Client, Reply, Request } from "./client.ts";
import type { Attempts, Journal, Placement, StatusPatch } from "./journal.ts";

/** The share of the customers that give up after a lost response. */
const LEAVING = 0.3;
/** Animals that customers order at the same time. */
const CROWD = 20;

export interface Sale {
  /** A multiple of `CROWD`. */
  animals: number;
  placements: number;
  /** Each makes its visits one after another. */
  customersPerClient: number;
}

/** Runs a sale: places many concurrent orders for each animal, among changes of the same orders and animals. */
export async function runSale(
  { animals, placements, customersPerClient }: Sale,
  clients: Client[],
  journal: Journal,
): Promise<void> {
  const customers = clients.flatMap((client) =>
    Array.from({ length: customersPerClient }, () => new Customer(client, journal)),
  );
  await runTogether(customers, Array.from({ length: animals }).keys(), (customer, index) => customer.addAnimal(index));
  const petIds = [...journal.animals];
  const visits = Array.from({ length: placements }, (_, n) => {
    const crowd = Math.floor((n * animals) / placements / CROWD);
    return petIds[crowd * CROWD + (n % CROWD)] ?? 0;
  });
  await runTogether(customers, visits.values(), (customer, petId) => customer.visit(petId));
}

/** Meets each kind of response once, with an animal that no other customer visits. */
export async function meetEveryResponse(client: Client, journal: Journal): Promise<void> {
  await new Customer(client, journal).meetEveryResponse();
}

async function runTogether<Item>(
  customers: Customer[],
  queue: IteratorObject<Item>,
  task: (customer: Customer, item: Item) => Promise<void>,
): Promise<void> {
  await Promise.all(
    customers.map(async (customer) => {
      for (const item of queue) await task(customer, item);
    }),
  );
}

class Customer {
  readonly #client: Client;
  readonly #journal: Journal;

  constructor(client: Client, journal: Journal) {
    this.#client = client;
    this.#journal = journal;
  }

  /** Runs before the first kill, so that it gets a response. */
  async addAnimal(index: number): Promise<void> {
    const name = `Animal ${index}`;
    const reply = await this.#client.send({ method: "POST", path: "/v1/pets", body: { name, categoryId: 1 } });
    if (reply?.status !== 201) throw new Error(`The response to the creation of an animal is ${reply?.outcome}.`);
    this.#journal.animals.add((reply.body as { id: number }).id);
  }

  async meetEveryResponse(): Promise<void> {
    await this.addAnimal(this.#journal.animals.size);
    const petId = [...this.#journal.animals].at(-1) ?? 0;
    const cancelled = await this.#place(petId);
    await this.#place(petId);
    await this.#patchAnimal(petId, "sold");
    await this.#cancel(cancelled?.id ?? 0);
    const shipped = await this.#place(petId);
    await this.#ship(shipped?.id ?? 0);
    await this.#patchAnimal(petId, "available");
  }

  /** Places an order, and at random changes the order, its animal, or another customer's order. */
  async visit(petId: number): Promise<void> {
    const [order] = await Promise.all([this.#place(petId), chance(0.15) && this.#patchAnimal(petId)]);
    const orders = [order, pick(this.#journal.orders)].filter((known) => known !== undefined);
    await Promise.all([
      ...orders.map(({ id }) => chance(0.3) && this.#cancel(id)),
      ...orders.map(({ id }) => chance(0.2) && this.#ship(id)),
      chance(0.15) && this.#patchAnimal(petId),
      chance(0.03) && this.#deleteAnimal(petId),
    ]);
  }

  async #place(petId: number): Promise<Order | undefined> {
    const placement: Placement = { petId, idempotencyKey: randomUUID(), lost: 0, isRefused: false };
    this.#journal.placements.push(placement);
    this.#journal.count("placements");
    const headers = { "Idempotency-Key": placement.idempotencyKey };
    const reply = await this.#ask("place", placement, {
      method: "POST",
      path: "/v1/store/orders",
      body: { petId },
      headers,
    });
    if (reply?.outcome === "201") {
      if (reply.isReplayed) this.#journal.count("place: replayed");
      this.#journal.recordOrder(placement, reply.body as Order);
    } else if (reply?.outcome === "pet_not_available") placement.isRefused = true;
    else this.#expectLost("place", reply);
    return placement.order;
  }

  async #cancel(orderId: number): Promise<void> {
    const reply = await this.#ask("cancel", { lost: 0 }, { method: "DELETE", path: `/v1/store/orders/${orderId}` });
    if (reply?.outcome === "204") this.#journal.recordEnding(orderId, "cancelled");
    else if (reply?.outcome === "order_shipped") this.#journal.recordEnding(orderId, "shipped");
    else this.#expectLost("cancel", reply);
  }

  async #ship(orderId: number): Promise<void> {
    const path = `/v1/store/orders/${orderId}`;
    const reply = await this.#ask("ship", { lost: 0 }, { method: "PATCH", path, body: { status: "shipped" } });
    if (reply?.outcome === "200") this.#journal.recordEnding(orderId, "shipped");
    else if (reply?.outcome === "order_cancelled") this.#journal.recordEnding(orderId, "cancelled");
    else this.#expectLost("ship", reply);
  }

  async #patchAnimal(petId: number, status = pick(PET_STATUSES) ?? "sold"): Promise<void> {
    const patch: StatusPatch = { petId, status, lost: 0 };
    this.#journal.patches.push(patch);
    const body = { name: randomUUID(), status: patch.status };
    const reply = await this.#ask("patch", patch, { method: "PATCH", path: `/v1/pets/${petId}`, body });
    if (reply?.version !== undefined) patch.version = reply.version;
    else if (reply?.outcome === "not_found") this.#journal.deleted.add(petId);
    else if (reply?.outcome !== "pet_on_order") this.#expectLost("patch", reply);
  }

  async #deleteAnimal(petId: number): Promise<void> {
    const reply = await this.#ask("delete", { lost: 0 }, { method: "DELETE", path: `/v1/pets/${petId}` });
    if (reply?.outcome === "204" || reply?.outcome === "not_found") this.#journal.deleted.add(petId);
    else if (reply === undefined) this.#journal.perhapsDeleted.add(petId);
    else if (reply.outcome !== "pet_on_order") this.#expectLost("delete", reply);
  }

  /** Sends a request and repeats it after a lost response. Returns undefined when the customer gives up. */
  async #ask(name: string, attempts: Attempts, request: Request): Promise<Reply | undefined> {
    for (;;) {
      const reply = await this.#client.send(request);
      if (reply !== undefined) {
        this.#journal.count(`${name}: ${reply.outcome}`);
        return reply;
      }
      attempts.lost++;
      this.#journal.count(`${name}: lost`);
      if (chance(LEAVING)) return undefined;
    }
  }

  #expectLost(name: string, reply: Reply | undefined): void {
    if (reply !== undefined) this.#journal.mistakes.push(`The response to ${name} is ${reply.outcome}.`);
  }
}

function chance(share: number): boolean {
  return Math.random() < share;
}

function pick<Item>(items: readonly Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}
