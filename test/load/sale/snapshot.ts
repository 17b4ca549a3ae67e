import type { Order } from "../../../src/orders/order.ts";
import type { PetStatus } from "../../../src/pets/table.ts";
import type { Client } from "./client.ts";

export interface AnimalState {
  id: number;
  name: string;
  status: PetStatus;
  version: number;
}

export interface OrderState {
  id: number;
  petId: number;
  status: Order["status"];
  createdAt: string;
  shipDate: string | null;
  version: number;
}

/** The final state of a sale. Both lists are in the order of ids. */
export interface Snapshot {
  animals: AnimalState[];
  orders: OrderState[];
}

export interface DatabaseSnapshot extends Snapshot {
  /** The id of the order of each `Idempotency-Key`. */
  keys: Map<string, number>;
}

export async function readDatabase(database: D1Database): Promise<DatabaseSnapshot> {
  const all = async <Row>(sql: string) => (await database.prepare(sql).all<Row>()).results;
  const keys = await all<{ key: string; id: number }>(
    "SELECT idempotency_key AS key, resource_id AS id FROM idempotency_keys",
  );
  return {
    animals: await all<AnimalState>("SELECT id, name, status, version FROM pets ORDER BY id"),
    orders: await all<OrderState>(
      `SELECT id, pet_id AS petId, status, created_at AS createdAt, ship_date AS shipDate, version
       FROM orders ORDER BY id`,
    ),
    keys: new Map(keys.map(({ key, id }) => [key, id])),
  };
}

/**
 * The same through the API: the lists, and each item for its version.
 *
 * @param clients used in turn, so that none meets its rate limit.
 */
export async function readService(clients: readonly Client[]): Promise<Snapshot> {
  return {
    animals: (await readAll<AnimalState>(clients, "/v1/pets")).map(({ id, name, status, version }) => ({
      id,
      name,
      status,
      version,
    })),
    orders: (await readAll<OrderState>(clients, "/v1/store/orders")).map(
      ({ id, petId, status, createdAt, shipDate, version }) => ({ id, petId, status, createdAt, shipDate, version }),
    ),
  };
}

async function readAll<Item>(clients: readonly Client[], path: string): Promise<Item[]> {
  const items: Item[] = [];
  let page: string | undefined = `${path}?limit=100`;
  while (page !== undefined) {
    const reply = await get(clients, page);
    const found = (reply.body as { id: number }[]).map(async ({ id }) => {
      const { body, version } = await get(clients, `${path}/${id}`, id);
      return { ...(body as Item), version };
    });
    items.push(...(await Promise.all(found)));
    page = reply.next;
  }
  return items;
}

async function get(clients: readonly Client[], path: string, turn = 0) {
  const reply = await clients[turn % clients.length]?.send({ method: "GET", path });
  if (reply?.status !== 200) throw new Error(`GET ${path} was answered ${reply?.outcome ?? "not at all"}.`);
  return reply;
}
