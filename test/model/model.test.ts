import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { type Fault } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";
import { latest } from "../events/feed.ts";
import { Change, feedSince, List, preconditionHeaders } from "./commands.ts";
import {
  type Answer,
  type CategoryPatch,
  Model,
  type NewCategory,
  type NewPet,
  ORDER_STATUSES,
  type PetPatch,
  type Preconditions,
  STATUSES,
  type View,
} from "./model.ts";

// Compares the service with a simple model: both get the same random commands, and every response has to be equal. To reproduce a
// failure, use `seed` and `path` from fast-check's report.

const SEED = 20_301_205;
const RUNS = 14;
const COMMANDS_PER_RUN = 250;

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

// Few of each, so that requests are often equal, and names and categories collide.
const name = fc.constantFrom("Rex", "Émile 🐍", "\u0000", 'a"b\\c');
const smallId = fc.integer({ min: 1, max: 12 });
const categoryId = fc.oneof(
  { weight: 3, arbitrary: smallId.map(String) },
  { weight: 1, arbitrary: fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n, 2n ** 53n, 0n).map(String) },
  { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) },
);
const status = fc.constantFrom(...STATUSES);
const newPet: fc.Arbitrary<NewPet> = fc.record({ name, categoryId, status: optional(status) });
const petPatch: fc.Arbitrary<PetPatch> = fc.record({ name, categoryId, status }, { requiredKeys: [] });
const description = fc.constantFrom("", "first", 'a"\u0000\\');
const newCategory: fc.Arbitrary<NewCategory> = fc.record({ name, description: optional(description) });
const categoryPatch: fc.Arbitrary<CategoryPatch> = fc.record(
  { name, description: fc.oneof(description, fc.constant(null)) },
  { requiredKeys: [] },
);

/** Undefined for a round trip that works: a fault of the second one shows a change that takes two. */
const fault: fc.Arbitrary<Fault> = fc.option(
  fc.record({
    when: fc.constantFrom("before" as const, "after" as const),
    message: fc.constantFrom(...TRANSIENT_ERRORS, ...LASTING_ERRORS),
  }),
  { nil: undefined, freq: 3 },
);
const faults: fc.Arbitrary<Fault[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault[]>([]) },
  { weight: 1, arbitrary: fc.array(fault, { maxLength: 4 }) },
);
interface Key {
  client: number;
  key: string;
}
const idempotencyKey = fc.option(fc.record<Key>({ client: fc.nat({ max: 1 }), key: fc.constantFrom(..."abcdefgh") }), {
  nil: undefined,
  freq: 2,
});
const keyHeader = (key: Key | undefined): Record<string, string> =>
  key === undefined ? {} : { "Idempotency-Key": key.key };
const nameOf = (key: Key | undefined) => key && `${key.client} ${key.key}`;
/** Differences from the version of the resource when the request is sent. */
const distances = fc.uniqueArray(fc.constantFrom(-1, 0, 1), { minLength: 1, maxLength: 2 });
/** The preconditions of a request, as such differences. */
const preconditions = fc.record<Preconditions>({
  ifMatch: optional(distances),
  ifNoneMatch: fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: distances },
    { weight: 1, arbitrary: fc.constant("*" as const) },
  ),
});

/** A body, with the exact `categoryId`. */
function write(fields: object): string {
  if (Array.isArray(fields)) return `[${fields.map(write).join()}]`;
  const members = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `"${field}":${field === "categoryId" ? String(value) : JSON.stringify(value)}`);
  return `{${members.join()}}`;
}

type Creation = "createPet" | "createPets" | "createCategory" | "placeOrder";
const creation = <Given extends object>(method: Creation, path: string, given: fc.Arbitrary<Given>) =>
  fc.tuple(given, idempotencyKey, faults).map(([fields, key, list]) => {
    return new Change(
      `${method} ${JSON.stringify({ ...fields, ...key })}`,
      () => ({ method: "POST", path, client: key?.client ?? 0, body: write(fields), headers: keyHeader(key) }),
      (model) => model[method](fields as never, nameOf(key)),
      key !== undefined,
      list,
    );
  });

type Resource = "pets" | "categories" | "orders";
const PATHS = { pets: "/v1/pets", categories: "/v1/categories", orders: "/v1/store/orders" };
/** With the versions of a resource. None is below 1: the service ignores such a tag, and the model does not. */
function near(model: Model, resource: Resource, id: number, { ifMatch, ifNoneMatch }: Preconditions): Preconditions {
  const version = model[resource].get(id)?.version ?? 1;
  const versions = (list: number[]) => list.map((distance) => Math.max(1, version + distance));
  return {
    ifMatch: ifMatch && versions(ifMatch),
    ifNoneMatch: ifNoneMatch === "*" ? ifNoneMatch : ifNoneMatch && versions(ifNoneMatch),
  };
}

/** A request for one resource, with preconditions. */
function onOne(
  text: string,
  resource: Resource,
  id: number,
  distances: Preconditions,
  request: { method: string; client?: number; body?: string; headers?: Record<string, string> },
  answer: (model: Model, preconditions: Preconditions) => Answer,
  isRepeatable = false,
  list: Fault[] = [],
) {
  let sent = distances;
  return new Change(
    `${text} ${JSON.stringify(distances)}`,
    (model) => {
      sent = near(model, resource, id, distances);
      const headers = { ...preconditionHeaders(sent), ...request.headers };
      return { ...request, path: `${PATHS[resource]}/${id}`, headers };
    },
    (model) => answer(model, sent),
    isRepeatable,
    list,
  );
}

const read = (method: "getPet" | "getCategory" | "getOrder", resource: Resource) =>
  fc
    .tuple(smallId, preconditions)
    .map(([id, distances]) =>
      onOne(`${method} ${id}`, resource, id, distances, { method: "GET" }, (model, sent) => model[method](id, sent)),
    );

const patch = <Fields extends object>(
  method: "patchPet" | "patchCategory",
  resource: Resource,
  given: fc.Arbitrary<Fields>,
) =>
  fc
    .tuple(smallId, given, preconditions, idempotencyKey, faults)
    .map(([id, fields, distances, key, list]) =>
      onOne(
        `${method} ${id} ${JSON.stringify({ ...fields, ...key })}`,
        resource,
        id,
        distances,
        { method: "PATCH", client: key?.client ?? 0, body: write(fields), headers: keyHeader(key) },
        (model, sent) => model[method](id, fields, sent, nameOf(key)),
        key !== undefined,
        list,
      ),
    );

const deletion = (method: "deletePet" | "deleteCategory" | "cancelOrder", resource: Resource) =>
  fc
    .tuple(smallId, preconditions, faults)
    .map(([id, distances, list]) =>
      onOne(
        `${method} ${id}`,
        resource,
        id,
        distances,
        { method: "DELETE" },
        (model, sent) => model[method](id, sent),
        method === "cancelOrder" && distances.ifNoneMatch === undefined,
        list,
      ),
    );

const SHIP_DATES = ["2026-11-22T09:30:00.000Z", "2026-11-23T09:30:00.000Z"];
const shipment = fc
  .tuple(smallId, fc.constantFrom(...SHIP_DATES), preconditions, idempotencyKey, faults)
  .map(([id, shipDate, distances, key, list]) => {
    const body = write({ status: "shipped", shipDate });
    const isAnyVersion = distances.ifMatch === undefined && distances.ifNoneMatch === undefined;
    return onOne(
      `shipOrder ${id} ${shipDate} ${JSON.stringify({ ...key })}`,
      "orders",
      id,
      distances,
      { method: "PATCH", client: key?.client ?? 0, body, headers: keyHeader(key) },
      (model, sent) => model.shipOrder(id, shipDate, sent, nameOf(key)),
      key !== undefined || isAnyVersion,
      list,
    );
  });

const size = fc.integer({ min: 1, max: 30 });
const view = fc.record<View>({
  sort: optional(fc.constantFrom("id", "-id")),
  include: optional(fc.constant("version")),
});
type Query = [name: string, value: string | undefined][];
const listOf = (path: string, filters: Query, shown: View, limit: number, items: (model: Model) => string[]) => {
  const query: Query = [...filters, ["sort", shown.sort], ["include", shown.include]];
  return new List(
    path,
    query.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    limit,
    items,
  );
};
const ids = optional(fc.array(smallId, { minLength: 1, maxLength: 5 }));
const listPets = fc
  .tuple(size, view, optional(status), optional(categoryId), ids)
  .map(([limit, shown, wanted, category, only]) => {
    const query: Query = (only ?? []).map((id) => ["id", String(id)]);
    query.push(["status", wanted], ["categoryId", category]);
    const filter = { status: wanted, categoryId: category, ids: only };
    return listOf(PATHS.pets, query, shown, limit, (model) => model.listPets(filter, shown));
  });
const listOrders = fc
  .tuple(size, view, optional(fc.constantFrom(...ORDER_STATUSES)), optional(smallId))
  .map(([limit, shown, wanted, petId]) => {
    const query: Query = [
      ["status", wanted],
      ["petId", petId?.toString()],
    ];
    return listOf(PATHS.orders, query, shown, limit, (model) => model.listOrders({ status: wanted, petId }, shown));
  });
const listCategories = fc
  .tuple(size, view)
  .map(([limit, shown]) => listOf(PATHS.categories, [], shown, limit, (model) => model.listCategories(shown)));

const placement = () => creation("placeOrder", "/v1/store/orders", fc.record({ petId: smallId }));

const commands = [
  creation("createPet", "/v1/pets", newPet),
  creation("createPets", "/v1/pets/batch", fc.array(newPet, { minLength: 1, maxLength: 4 })),
  creation("createCategory", "/v1/categories", newCategory),
  patch("patchPet", "pets", petPatch),
  patch("patchCategory", "categories", categoryPatch),
  deletion("deletePet", "pets"),
  deletion("deleteCategory", "categories"),
  placement(),
  placement(),
  placement(),
  shipment,
  deletion("cancelOrder", "orders"),
  deletion("cancelOrder", "orders"),
  read("getOrder", "orders"),
  read("getCategory", "categories"),
  read("getPet", "pets"),
  listOrders,
  listPets,
  listCategories,
];

let apiKeys: string[];
beforeAll(async () => {
  apiKeys = [await grantKey(), await grantKey()];
  // Retries need not wait here.
  vi.spyOn(scheduler, "wait").mockResolvedValue();
});
afterAll(() => {
  vi.restoreAllMocks();
});

test("the service responds like the model, for any requests in any order and with any faults", async () => {
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { size: "max", maxCommands: COMMANDS_PER_RUN }), async (list) => {
      const tables = ["pets", "categories", "orders", "idempotency_keys", "sqlite_sequence"];
      await env.DB.batch(tables.map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
      steps += [...list].length;
      const model = new Model();
      const cursor = await latest(apiKeys[0] ?? "");
      await fc.asyncModelRun(() => ({ model, real: apiKeys }), list);
      expect(await feedSince(apiKeys, cursor)).toEqual(model.feed);
    }),
    { seed: SEED, numRuns: RUNS },
  );
  console.log(`${steps} steps`);
  expect(steps).toBeGreaterThan(1_000);
}, 120_000);
