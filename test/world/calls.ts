import type { Simulated } from "./specification.ts";
import type { List, Page, Session } from "../../client/src/index.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import type { Known } from "./known.ts";
import type { Random } from "./random.ts";

const STATUSES = ["available", "pending", "sold"] as const;
const SHIP_DATES = ["2026-11-22T09:30:00.000Z", "2026-11-23T09:30:00.000Z"];

export const nameOf = (random: Random) => random.pick(["Rex", "Émile 🐍", 'a"b\\c', `Animal ${random.between(1, 40)}`]);
export const categoryOf = (random: Random) =>
  random.pick([1n, 2n, 3n, BigInt(random.between(1, 12)), 2n ** 63n - 1n, -(2n ** 53n) - 1n]);
export const newPet = (random: Random) => ({
  name: nameOf(random),
  categoryId: categoryOf(random),
  ...(random.chance(0.3) && { status: random.pick(STATUSES) }),
});
/** A place of the feed that a client knows, its end or its start. */
export const cursorOf = (random: Random, known: Known) =>
  random.chance(0.8) && known.cursors.length > 0
    ? random.pick(random.chance(0.5) ? known.cursors.slice(-5) : known.cursors)
    : random.pick(["latest", undefined]);
const description = (random: Random) => random.pick(["", "first", 'a"\\']);
export const referenceOf = (random: Random) => random.pick(["cart 1", "Émile 🐍", 'a"b\\c', "%41+&"]);
const patchOfPet = (random: Random) => ({
  ...(random.chance(0.5) && { name: nameOf(random) }),
  ...(random.chance(0.3) && { categoryId: categoryOf(random) }),
  ...(random.chance(0.6) && { status: random.pick(STATUSES) }),
});

/** What a call has: the client, the chance of its step and what clients know. */
export interface Call {
  client: Pick<Session, "pets" | "categories" | "orders" | "events" | "key">;
  random: Random;
  known: Known;
  /** Of a creation or a change, kept by the program for the time after a crash. */
  idempotencyKey: string;
}

/** A call with its arguments, which a program repeats after a crash. */
export type Prepared = (client: Call["client"]) => Promise<unknown>;

interface Kind {
  weight: number;
  prepare: (call: Omit<Call, "client">) => Prepared;
}

const maxAge = (random: Random) => (random.chance(0.4) ? { maxAge: random.pick([1, 5, 60, 600]) } : {});
const sort = (random: Random) => (random.chance(0.3) ? { sort: "-id" as const } : {});
const etags = (random: Random) => (random.chance(0.2) ? { etags: true as const } : {});

/**
 * The calls of programs that use the official client: one for each operation of the document, and some programs. Their order decides
 * what a seed does, so a new one is the last.
 */
const KINDS = {
  createPet: {
    weight: 10,
    prepare({ random, idempotencyKey }) {
      const pet = newPet(random);
      return (client) => client.pets.create(pet, { idempotencyKey });
    },
  },
  createPets: {
    weight: 2,
    prepare({ random, idempotencyKey }) {
      const pets = Array.from({ length: random.between(1, 6) }, () => newPet(random));
      return (client) => client.pets.createMany(pets, { idempotencyKey });
    },
  },
  updatePet: {
    weight: 12,
    prepare(call) {
      const { random, idempotencyKey } = call;
      const { id, ...versions } = target(call, "pets");
      const patch = patchOfPet(random);
      return (client) => client.pets.update(id, patch, { ...versions, idempotencyKey });
    },
  },
  deletePet: {
    weight: 6,
    prepare(call) {
      const { id, ...versions } = target(call, "pets");
      return (client) => client.pets.delete(id, versions);
    },
  },
  createCategory: {
    weight: 3,
    prepare({ random, idempotencyKey }) {
      const category = { name: nameOf(random), ...(random.chance(0.5) && { description: description(random) }) };
      return (client) => client.categories.create(category, { idempotencyKey });
    },
  },
  updateCategory: {
    weight: 4,
    prepare(call) {
      const { random, idempotencyKey } = call;
      const { id, ...versions } = target(call, "categories");
      const text = random.pick([null, description(random)]);
      const patch = {
        ...(random.chance(0.5) && { name: nameOf(random) }),
        ...(random.chance(0.5) && { description: text }),
      };
      return (client) => client.categories.update(id, patch, { ...versions, idempotencyKey });
    },
  },
  deleteCategory: {
    weight: 3,
    prepare(call) {
      const { id, ...versions } = target(call, "categories");
      return (client) => client.categories.delete(id, versions);
    },
  },
  placeOrder: {
    weight: 14,
    prepare({ random, known, idempotencyKey }) {
      const petId = BigInt(known.id(random, "pets"));
      const order = { petId, ...(random.chance(0.4) && { reference: referenceOf(random) }) };
      return (client) => client.orders.place(order, { idempotencyKey });
    },
  },
  updateOrder: {
    weight: 9,
    prepare(call) {
      const { random, idempotencyKey } = call;
      const { id, ...versions } = target(call, "store/orders");
      const changes = random.weighted({ status: 4, reference: 4, both: 3 });
      const patch = {
        ...(changes !== "reference" && { status: "shipped" as const }),
        ...(changes !== "reference" && random.chance(0.3) && { shipDate: random.pick(SHIP_DATES) }),
        ...(changes !== "status" && { reference: random.pick([null, referenceOf(random)]) }),
      };
      return (client) => client.orders.update(id, patch, { ...versions, idempotencyKey });
    },
  },
  cancelOrder: {
    weight: 6,
    prepare(call) {
      const { id, ...versions } = target(call, "store/orders");
      return (client) => client.orders.cancel(id, versions);
    },
  },
  getPet: { weight: 8, prepare: fetching("pets", (client) => client.pets) },
  getCategory: { weight: 3, prepare: fetching("categories", (client) => client.categories) },
  getOrder: { weight: 5, prepare: fetching("store/orders", (client) => client.orders) },
  listPets: {
    weight: 5,
    prepare({ random, known }) {
      const filter = random.weighted({ none: 4, status: 1, category: 1, both: 1, ids: 2 });
      const ids = Array.from({ length: random.between(1, 5) }, () => BigInt(known.id(random, "pets")));
      const query = {
        ...((filter === "status" || filter === "both") && { status: random.pick(STATUSES) }),
        ...((filter === "category" || filter === "both") && { categoryId: categoryOf(random) }),
        ...(filter === "ids" && { id: ids }),
        ...sort(random),
        ...etags(random),
        limit: random.between(1, 40),
      };
      const age = maxAge(random);
      const q = random.chance(0.3)
        ? { q: random.pick(["re", "EMIL", "émile", "b", "animal 1", "3 an", "nobody"]) }
        : {};
      return (client) => walk(client.pets.list({ ...query, ...q }, age));
    },
  },
  listOrders: {
    weight: 3,
    prepare({ random, known }) {
      const query = {
        ...(random.chance(0.3) && { status: random.pick(["placed", "shipped", "cancelled"] as const) }),
        ...random.pick([{}, { petId: BigInt(known.id(random, "pets")) }, { reference: referenceOf(random) }]),
        ...sort(random),
        ...etags(random),
        limit: random.between(5, 100),
      };
      return (client) => client.orders.list(query).page();
    },
  },
  listCategories: {
    weight: 2,
    prepare({ random }) {
      const query = { ...sort(random), ...etags(random), limit: random.between(1, 10) };
      const age = maxAge(random);
      return (client) => walk(client.categories.list(query, age));
    },
  },
  "poll a page": {
    weight: 2,
    prepare({ random }) {
      const maxAge = random.pick([1, 5, 20]);
      return async (client) => {
        for (let poll = 0; poll < 4; poll++) await client.pets.list({ sort: "-id", limit: 3 }, { maxAge }).page();
      };
    },
  },
  listEvents: {
    weight: 5,
    prepare({ random, known }) {
      const cursor = cursorOf(random, known);
      const types = random.chance(0.5) ? { types: EVENT_TYPES.filter(() => random.chance(0.3)) } : {};
      const query = { cursor, limit: random.between(1, 8), ...(types.types?.length !== 0 && types) };
      return async (client) => {
        const page = await client.events.list(query);
        if (page.more) await client.events.list({ ...query, cursor: page.cursor });
      };
    },
  },
  // So that the store stays small.
  "clear the store": {
    weight: 5,
    prepare({ random }) {
      const query = { status: random.pick(STATUSES), etags: true, limit: 12 } as const;
      return async (client) => {
        const { items } = await client.pets.list(query).page();
        for (const { id, etag } of items) await client.pets.delete(id, { ifMatch: etag }).catch(() => {});
      };
    },
  },
  getKey: { weight: 1, prepare: () => (client) => client.key() },
  getInventory: { weight: 2, prepare: () => (client) => client.orders.inventory() },
  updatePets: {
    weight: 6,
    prepare(call) {
      const { random, known, idempotencyKey } = call;
      const changes = idsOf(call, 6).map((id) => ({
        id: BigInt(id),
        ...(random.chance(0.5) && { version: known.version(random, "pets", id) }),
        ...patchOfPet(random),
      }));
      return (client) => client.pets.updateMany(changes, { idempotencyKey });
    },
  },
} satisfies { [name in Simulated | "poll a page" | "clear the store"]: Kind };
export const CALLS: { readonly [name: string]: Kind } = KINDS;

/** Pages that a program fetches at most. */
const MAX_PAGES = 5;

async function walk<Item>(list: List<Item>): Promise<void> {
  let page: Page<Item> | undefined = await list.page();
  for (let pages = 1; page !== undefined && pages < MAX_PAGES; pages++) page = await page.next();
}

/** Animals, each once. */
function idsOf({ random, known }: Pick<Call, "random" | "known">, most: number): number[] {
  return [...new Set(Array.from({ length: random.between(1, most) }, () => known.id(random, "pets")))];
}

/** A resource to change, with the version that it has to have, if any. */
function target(
  { random, known }: Omit<Call, "client">,
  resource: Parameters<Known["id"]>[1],
): { id: bigint; ifMatch?: string } {
  const id = known.id(random, resource);
  const isVersioned = random.chance(0.4);
  const ifMatch = `"${known.version(random, resource, id)}"`;
  return { id: BigInt(id), ...(isVersioned && { ifMatch }) };
}

interface Fetcher {
  get: (id: bigint, options: { maxAge?: number; ifNoneMatch?: string | undefined }) => Promise<unknown>;
}

function fetching(resource: Parameters<Known["id"]>[1], of: (client: Call["client"]) => Fetcher): Kind["prepare"] {
  return ({ random, known }) => {
    const id = known.id(random, resource);
    const ifNoneMatch = random.chance(0.3) ? { ifNoneMatch: `"${known.version(random, resource, id)}"` } : {};
    const age = maxAge(random);
    return (client) => of(client).get(BigInt(id), { ...ifNoneMatch, ...age });
  };
}
