// The whole service, for one client at a time and without failures.
import document from "../../public/openapi.json" with { type: "json" };
import { isFound } from "./search.ts";

export const STATUSES = ["available", "pending", "sold"] as const;
type Status = (typeof STATUSES)[number];

export interface NewPet {
  name: string;
  /** Decimal digits, because the model must not round either. */
  categoryId: string;
  status?: Status | undefined;
  externalId?: string | undefined;
}
export interface ImportedPet extends NewPet {
  externalId: string;
}
export interface NewCategory {
  name: string;
  description?: string | undefined;
}
export interface PetPatch extends Partial<Omit<NewPet, "externalId">> {
  /** Null removes it. */
  externalId?: string | null | undefined;
}
export interface PetChange extends PetPatch {
  id: number;
  /** The version that the animal has to have. */
  version?: number | undefined;
}
export interface CategoryPatch {
  name?: string | undefined;
  /** Null removes it. */
  description?: string | null | undefined;
}

export const ORDER_STATUSES = ["placed", "shipped", "cancelled"] as const;

interface Versioned {
  id: number;
  version: number;
}
interface Pet extends Omit<NewPet, "externalId">, Versioned {
  status: Status;
  externalId: string | null;
}
interface Category extends Versioned {
  name: string;
  description: string | null;
}

interface Order extends Versioned {
  petId: number;
  status: (typeof ORDER_STATUSES)[number];
  createdAt: string;
  shipDate: string | null;
  reference: string | null;
  customer: string | null;
}
export interface NewOrder {
  petId: number;
  reference?: string | undefined;
  customer?: string | undefined;
}
/** The customer of a request with a token, and the number of placed orders that the customer may have. */
interface Token {
  customer: string;
  maxPlaced: number;
}
export interface OrderPatch {
  status?: "shipped" | undefined;
  shipDate?: string | undefined;
  /** Null removes it. */
  reference?: string | null | undefined;
  customer?: string | null | undefined;
}

/** The parts of a response that a client sees. */
export interface Answer {
  status: number;
  /** The body of a success, or the code of a failure. */
  body: string;
  etag?: string;
  location?: string;
  replayed?: true;
}

/** The versions that each header names. Undefined without the header. */
export interface Preconditions {
  ifMatch: number[] | undefined;
  ifNoneMatch: number[] | "*" | undefined;
}

/** How a list shows its items. */
export interface View {
  sort?: "id" | "-id" | undefined;
  include?: "version" | undefined;
}

export class Model {
  /** By their names, the fields of an animal that the version before knows, while it serves the request. */
  known: object | undefined;
  pets = new Map<number, Pet>();
  categories = new Map<number, Category>();
  orders = new Map<number, Order>();
  /** Each event: its type, its version and its data. */
  feed: string[] = [];
  /** The last count of the animals, and its time in milliseconds. The restore of a backup leaves it out. */
  count: { body: string; at: number } | undefined;
  #lastPet = 0;
  #lastCategory = 0;
  #lastOrder = 0;
  /** By API key and idempotency key. */
  #done = new Map<string, { request: string; answer: Answer }>();

  createPet(given: NewPet, key?: string): Answer {
    return this.#once(key, JSON.stringify(["pet", complete(given)]), () => {
      if (this.#petOf(given.externalId) !== undefined) return failure(409, "external_id_taken");
      const pet = this.#add(given);
      return { status: 201, body: this.#write(pet), etag: '"1"', location: `/v1/pets/${pet.id}` };
    });
  }

  createPets(given: NewPet[], key?: string): Answer {
    return this.#once(key, JSON.stringify(["pets", given.map(complete)]), () => {
      const ids = given.map(({ externalId }) => externalId).filter((id) => id !== undefined);
      if (new Set(ids).size < ids.length) return failure(400, "invalid_request");
      if (ids.some((id) => this.#petOf(id) !== undefined)) return failure(409, "external_id_taken");
      return { status: 201, body: `[${given.map((one) => this.#write(this.#add(one))).join()}]` };
    });
  }

  createCategory({ name, description }: NewCategory, key?: string): Answer {
    return this.#once(key, JSON.stringify(["category", name, description]), () => {
      if (this.#isTaken(name)) return failure(409, "category_exists");
      const category = { id: ++this.#lastCategory, name, description: description ?? null, version: 1 };
      this.categories.set(category.id, category);
      this.#record("category.created", category, writeCategory);
      return { status: 201, body: writeCategory(category), etag: '"1"', location: `/v1/categories/${category.id}` };
    });
  }

  patchPet(id: number, patch: PetPatch, preconditions: Preconditions, key?: string): Answer {
    return this.#once(key, JSON.stringify(["patch pet", id, preconditions, patch]), () => {
      const pet = this.pets.get(id);
      if (pet === undefined) return failure(404, "not_found");
      if (this.#keepsStatus(pet, patch)) return failure(409, "pet_on_order");
      if (this.#isOfAnother(patch.externalId, id)) return failure(409, "external_id_taken");
      return change(pet, patch, preconditions, this.#write, () => this.#record("pet.updated", pet, this.#write));
    });
  }

  patchPets(changes: PetChange[], key?: string): Answer {
    return this.#once(key, JSON.stringify(["patch pets", changes]), () => {
      const found = changes.map((change) => ({ ...change, pet: this.pets.get(change.id) }));
      if (found.some(({ pet }) => pet === undefined)) return failure(404, "not_found");
      if (found.some(({ pet, status }) => this.#keepsStatus(pet as Pet, { status })))
        return failure(409, "pet_on_order");
      if (changes.some(({ id, externalId }) => this.#isOfAnother(externalId, id)))
        return failure(409, "external_id_taken");
      if (found.some(({ pet, version = pet?.version }) => version !== pet?.version))
        return failure(412, "precondition_failed");
      for (const { id, version: _, ...patch } of changes.toSorted((a, b) => a.id - b.id)) {
        const pet = this.pets.get(id) as Pet;
        change(pet, patch, ANY, this.#write, () => this.#record("pet.updated", pet, this.#write));
      }
      const items = found.map(({ pet }) => writeVersioned(pet as Pet, this.#write));
      return { status: 200, body: `[${items.join()}]` };
    });
  }

  /** Makes animals what another system says. A status that it leaves out stays. */
  importPets(given: ImportedPet[]): Answer {
    const found = given.map((item) => ({ item, pet: this.#petOf(item.externalId) }));
    const isRefused = ({ item: { status }, pet }: (typeof found)[number]) =>
      pet !== undefined && status !== undefined && status !== pet.status && this.#keepsStatus(pet, { status });
    if (found.some(isRefused)) return failure(409, "pet_on_order");
    const results = new Map<Pet, string>();
    for (const { item, pet } of found) if (pet === undefined) results.set(this.#add(item), "created");
    for (const { item, pet } of found.toSorted((a, b) => (a.pet?.id ?? 0) - (b.pet?.id ?? 0))) {
      if (pet === undefined) continue;
      results.set(pet, "unchanged");
      change(pet, item, ANY, this.#write, () => {
        results.set(pet, "updated");
        this.#record("pet.updated", pet, this.#write);
      });
    }
    const items = given.map(({ externalId }) => {
      const pet = this.#petOf(externalId) as Pet;
      return writeVersioned(pet, this.#write).replace(/\}$/, `,"result":"${results.get(pet)}"}`);
    });
    return { status: 200, body: `[${items.join()}]` };
  }

  patchCategory(id: number, patch: CategoryPatch, preconditions: Preconditions, key?: string): Answer {
    return this.#once(key, JSON.stringify(["patch category", id, preconditions, patch]), () => {
      const category = this.categories.get(id);
      if (category === undefined) return failure(404, "not_found");
      if (patch.name !== undefined && this.#isTaken(patch.name, id)) return failure(409, "category_exists");
      return change(category, patch, preconditions, writeCategory, () =>
        this.#record("category.updated", category, writeCategory),
      );
    });
  }

  deletePet(id: number, preconditions: Preconditions): Answer {
    if (this.pets.has(id) && this.#orderOf(id) !== undefined) return failure(409, "pet_on_order");
    return this.#remove("pet.deleted", this.pets, id, preconditions);
  }

  deleteCategory(id: number, preconditions: Preconditions): Answer {
    const isInUse = [...this.pets.values()].some(({ categoryId }) => categoryId === String(id));
    if (this.categories.has(id) && isInUse) return failure(409, "category_in_use");
    return this.#remove("category.deleted", this.categories, id, preconditions);
  }

  placeOrder({ petId, reference, ...more }: NewOrder, createdAt: string, key?: string, token?: Token): Answer {
    const customer = token?.customer ?? more.customer;
    return this.#once(key, JSON.stringify(["order", petId, reference, customer]), () => {
      const pet = this.pets.get(petId);
      const placed = [...this.orders.values()].filter((one) => one.customer === customer && one.status === "placed");
      if (token !== undefined && placed.length >= token.maxPlaced) return failure(409, "order_limit");
      if (pet?.status !== "available" || this.#orderOf(petId) !== undefined) return failure(409, "pet_not_available");
      const order = {
        id: ++this.#lastOrder,
        petId,
        status: "placed" as const,
        createdAt,
        shipDate: null,
        reference: reference ?? null,
        customer: customer ?? null,
        version: 1,
      };
      this.orders.set(order.id, order);
      this.#record("order.placed", order, writeOrder);
      this.#move(pet, "pending");
      return { status: 201, body: writeOrder(order), etag: '"1"', location: `/v1/store/orders/${order.id}` };
    });
  }

  /** @param now the date of a shipment that names none. */
  patchOrder(id: number, patch: OrderPatch, preconditions: Preconditions, key?: string, now = ""): Answer {
    const { status, shipDate = now, reference, customer } = patch;
    // An omitted field differs from null.
    const named = { status, shipDate: patch.shipDate, reference, customer };
    return this.#once(key, JSON.stringify(["patch order", id, preconditions, named]), () => {
      const order = this.orders.get(id);
      if (order === undefined) return failure(404, "not_found");
      if (status !== undefined && order.status === "cancelled") return failure(409, "order_cancelled");
      const ships = status !== undefined && order.status === "placed";
      // A shipped order keeps its date.
      const changes = { ...(ships && { status, shipDate }), reference, customer };
      return change(order, changes, preconditions, writeOrder, () => {
        this.#record(ships ? "order.shipped" : "order.updated", order, writeOrder);
        if (ships) this.#move(this.pets.get(order.petId), "sold");
      });
    });
  }

  /** @param customer of a request with a token. */
  cancelOrder(id: number, preconditions: Preconditions, customer?: string): Answer {
    const order = this.#reachable(id, customer);
    if (order === undefined) return failure(404, "not_found");
    if (order.status === "shipped") return failure(409, "order_shipped");
    const wasPlaced = order.status === "placed";
    // An earlier version matches too, because the response to the cancellation may have been lost.
    const { ifMatch } = preconditions;
    const isOtherwiseMet = isMet(order, { ...preconditions, ifMatch: undefined });
    const isRetry = !wasPlaced && isOtherwiseMet && ifMatch?.some((version) => version < order.version) === true;
    if (!isRetry && !isMet(order, preconditions)) return failure(412, "precondition_failed");
    change(order, { status: "cancelled" }, ANY, writeOrder, () => {
      this.#record("order.cancelled", order, writeOrder);
      this.#move(this.pets.get(order.petId), "available");
    });
    return { status: 204, body: "" };
  }

  getPet(id: number, preconditions: Preconditions): Answer {
    return get(this.pets.get(id), preconditions, this.#write);
  }

  getCategory(id: number, preconditions: Preconditions): Answer {
    return get(this.categories.get(id), preconditions, writeCategory);
  }

  getOrder(id: number, preconditions: Preconditions, customer?: string): Answer {
    return get(this.#reachable(id, customer), preconditions, writeOrder);
  }

  /** An order, if the customer of a token may know of it. */
  #reachable(id: number, customer?: string): Order | undefined {
    const order = this.orders.get(id);
    return customer === undefined || order?.customer === customer ? order : undefined;
  }

  listOrders({ createdAfter = "", createdBefore = "~", ...filter }: OrderFilter, view: View): string[] {
    const isWithin = ({ createdAt }: Order) => createdAt >= createdAfter && createdAt < createdBefore;
    return list(matching(this.orders, filter).filter(isWithin), view, writeOrder);
  }

  /** Every animal that matches the filters. */
  listPets({ ids, q, ...filter }: Filter<Pet> & { ids?: number[] | undefined; q?: string | undefined }, view: View) {
    const pets = matching(this.pets, filter)
      .filter(({ id }) => ids === undefined || ids.includes(id))
      .filter(({ name }) => q === undefined || isFound(name, q));
    return list(pets, view, this.#write);
  }

  listCategories(view: View): string[] {
    return list([...this.categories.values()], view, writeCategory);
  }

  /** The animals of each status. The last count stands for ten seconds: no test has as many animals that it stands longer. */
  inventory(at: number): Answer {
    if (this.count === undefined || at < this.count.at || at >= this.count.at + 10_000) {
      const all = [...this.pets.values()];
      const counts = STATUSES.map((one) => `"${one}":${all.filter(({ status }) => status === one).length}`);
      this.count = { body: `{${counts.join()}}`, at };
    }
    return { status: 200, body: this.count.body };
  }

  /** The hourly job removes a key. */
  forget(key: string): void {
    this.#done.delete(key);
  }

  readonly #write = (pet: Pet): string => {
    if (this.known === undefined) return writePet(pet);
    const values = Object.entries(pet).map(([field, value]) => [field, this.#knows(field) ? value : null]);
    return writePet(Object.fromEntries(values) as Pet);
  };

  #knows(field: string): boolean {
    return this.known === undefined || field in this.known;
  }

  /** The last ids that were given out, by table. */
  get counters(): { [table: string]: number } {
    return { pets: this.#lastPet, categories: this.#lastCategory, orders: this.#lastOrder };
  }

  /** The restore of a backup raises the counters of ids. */
  raise({ pets = 0, categories = 0, orders = 0 }: { [table: string]: number }): void {
    [this.#lastPet, this.#lastCategory, this.#lastOrder] = [pets, categories, orders];
  }

  copy(): Model {
    const copy = new Model();
    copy.pets = structuredClone(this.pets);
    copy.categories = structuredClone(this.categories);
    copy.orders = structuredClone(this.orders);
    copy.count = this.count;
    copy.#lastPet = this.#lastPet;
    copy.#lastCategory = this.#lastCategory;
    copy.#lastOrder = this.#lastOrder;
    copy.#done = new Map(this.#done);
    return copy;
  }

  #add(given: NewPet): Pet {
    const pet = { id: ++this.#lastPet, ...complete(given), version: 1 };
    this.pets.set(pet.id, pet);
    this.#record("pet.created", pet, this.#write);
    return pet;
  }

  #record<Row extends Versioned>(type: string, row: Row, write: (row: Row) => string): void {
    this.feed.push(`${type} ${row.version} ${write(row)}`);
  }

  #move(pet: Pet | undefined, status: Status): void {
    if (pet === undefined) throw new Error("An order that is not cancelled names a deleted animal");
    pet.status = status;
    pet.version++;
    this.#record("pet.updated", pet, this.#write);
  }

  #remove(type: string, rows: Map<number, Versioned>, id: number, preconditions: Preconditions): Answer {
    const row = rows.get(id);
    if (row === undefined) return failure(404, "not_found");
    if (!isMet(row, preconditions)) return failure(412, "precondition_failed");
    rows.delete(id);
    row.version++;
    this.#record(type, row, () => `{"id":${id}}`);
    return { status: 204, body: "" };
  }

  /** The order of an animal that is not cancelled. */
  #orderOf(petId: number): Order | undefined {
    return [...this.orders.values()].find((order) => order.petId === petId && order.status !== "cancelled");
  }

  #petOf(externalId: string | undefined): Pet | undefined {
    return [...this.pets.values()].find((pet) => pet.externalId === externalId);
  }

  #isOfAnother(externalId: string | null | undefined, id: number): boolean {
    const pet = this.#petOf(externalId ?? undefined);
    return pet !== undefined && pet.id !== id;
  }

  /**
   * Whether an order refuses a patch: a placed one each that names the status, a shipped one each that changes it. The version without
   * external ids does not ask a shipped one.
   */
  #keepsStatus(pet: Pet, { status }: PetPatch): boolean {
    const order = this.#orderOf(pet.id);
    return (
      status !== undefined &&
      order !== undefined &&
      (order.status === "placed" || (this.#knows("externalId") && ![pet.status, "sold"].includes(status)))
    );
  }

  #isTaken(name: string, by?: number): boolean {
    return [...this.categories.values()].some((category) => category.name === name && category.id !== by);
  }

  #once(key: string | undefined, request: string, create: () => Answer): Answer {
    const known = key === undefined ? undefined : this.#done.get(key);
    if (known !== undefined) {
      return known.request === request ? { ...known.answer, replayed: true } : failure(422, "idempotency_key_reused");
    }
    const answer = create();
    if (key !== undefined && answer.status < 300) this.#done.set(key, { request, answer });
    return answer;
  }
}

/** No preconditions. */
const ANY: Preconditions = { ifMatch: undefined, ifNoneMatch: undefined };

/** With each field of the document. An absent one is null. */
function complete(given: NewPet): Omit<Pet, keyof Versioned> {
  const values: { [field: string]: unknown } = { status: "available", ...given };
  const all = Object.keys(document.components.schemas.NewPet.properties);
  return Object.fromEntries(all.map((field) => [field, values[field] ?? null])) as unknown as Pet;
}

function get<Row extends Versioned>(
  row: Row | undefined,
  preconditions: Preconditions,
  write: (row: Row) => string,
): Answer {
  if (row === undefined) return failure(404, "not_found");
  const etag = `"${row.version}"`;
  if (isMet(row, preconditions)) return { status: 200, body: write(row), etag };
  return isMet(row, { ...preconditions, ifNoneMatch: undefined })
    ? { status: 304, body: "", etag }
    : failure(412, "precondition_failed");
}

type OrderFilter = Filter<Order> & { createdAfter?: string | undefined; createdBefore?: string | undefined };
type Filter<Row> = { [Name in keyof Row]?: Row[Name] | string | undefined };

/** The rows with the values of a filter that are given. */
function matching<Row extends Versioned>(rows: Map<number, Row>, filter: Filter<Row>): Row[] {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return [...rows.values()].filter((row) => given.every(([name, value]) => row[name as keyof Row] === value));
}

/** The items of a list, in its order. The rows are in the order of their ids. */
function list<Row extends Versioned>(rows: Row[], { sort, include }: View, write: (row: Row) => string): string[] {
  const items = rows.map((row) => (include === undefined ? write(row) : writeVersioned(row, write)));
  return sort === "-id" ? items.toReversed() : items;
}

const writeVersioned = <Row extends Versioned>(row: Row, write: (row: Row) => string) =>
  write(row).replace(/\}$/, `,"version":${row.version}}`);

function change<Row extends Versioned>(
  row: Row,
  patch: object,
  preconditions: Preconditions,
  write: (row: Row) => string,
  changed: () => void,
): Answer {
  const fields = Object.entries(patch).filter(([, value]) => value !== undefined);
  const isAsAsked = fields.every(([name, value]) => (row as Record<string, unknown>)[name] === value);
  if (!isMet(row, preconditions)) return failure(412, "precondition_failed");
  if (!isAsAsked) {
    Object.assign(row, Object.fromEntries(fields), { version: row.version + 1 });
    changed();
  }
  return { status: 200, body: write(row), etag: `"${row.version}"` };
}

function isMet({ version }: Versioned, { ifMatch, ifNoneMatch }: Preconditions): boolean {
  return ifMatch?.includes(version) !== false && ifNoneMatch !== "*" && ifNoneMatch?.includes(version) !== true;
}

export function failure(status: number, code: string): Answer {
  return { status, body: code };
}

/**
 * A resource as its body has it: the fields of the document in their order, without optional ones that are null. Digits of an int64 stay
 * as they are.
 */
function write(schema: "Animal" | "Category" | "Order", row: object): string {
  const { properties, required } = document.components.schemas[schema];
  const values = row as { [field: string]: unknown };
  const texts = Object.entries<{ format?: string; [rule: string]: unknown }>(properties).flatMap(
    ([field, { format }]) => {
      const value = format === "int64" ? String(values[field]) : JSON.stringify(values[field]);
      return values[field] === null && !required.includes(field) ? [] : `"${field}":${value}`;
    },
  );
  return `{${texts.join()}}`;
}

export const writePet = (pet: Pet) => write("Animal", pet);
export const writeCategory = (category: Category) => write("Category", category);
export const writeOrder = (order: Order) =>
  write("Order", { ...order, quantity: 1, complete: order.status === "shipped" });
