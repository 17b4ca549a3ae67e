import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Fault, LASTING_ERRORS, TRANSIENT_ERRORS } from "../support/faulty-d1.ts";
import { grantKey } from "../support/keys.ts";
import { Change, ifMatchHeader, List } from "./commands.ts";
import {
  type CategoryPatch,
  Model,
  type NewCategory,
  type NewPet,
  ORDER_STATUSES,
  type PetPatch,
  STATUSES,
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

const fault: fc.Arbitrary<Fault> = fc.record({
  when: fc.constantFrom("before" as const, "after" as const),
  message: fc.constantFrom(...TRANSIENT_ERRORS, ...LASTING_ERRORS),
});
const faults: fc.Arbitrary<Fault[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault[]>([]) },
  { weight: 1, arbitrary: fc.array(fault, { maxLength: 4 }) },
);
interface Key {
  client: number;
  key: string;
}
const idempotencyKey = optional(fc.record<Key>({ client: fc.nat({ max: 1 }), key: fc.constantFrom(..."abcdefgh") }));
const keyHeader = (key: Key | undefined): Record<string, string> =>
  key === undefined ? {} : { "Idempotency-Key": key.key };
const nameOf = (key: Key | undefined) => key && `${key.client} ${key.key}`;
/** Differences from the version of the resource when the request is sent. */
const distances = optional(fc.uniqueArray(fc.constantFrom(-1, 0, 1), { minLength: 1, maxLength: 2 }));

/** A body, with the exact `categoryId`. */
function write(fields: object): string {
  const members = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `"${field}":${field === "categoryId" ? String(value) : JSON.stringify(value)}`);
  return `{${members.join()}}`;
}

type Creation = "createPet" | "createCategory" | "placeOrder";
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
const versionsOf = (model: Model, resource: Resource, id: number, apart: number[] | undefined) =>
  apart?.map((distance) => (model[resource].get(id)?.version ?? 1) + distance);

const patch = <Fields extends object>(
  method: "patchPet" | "patchCategory",
  resource: Resource,
  given: fc.Arbitrary<Fields>,
) =>
  fc.tuple(smallId, given, distances, idempotencyKey, faults).map(([id, fields, apart, key, list]) => {
    let versions: number[] | undefined;
    return new Change(
      `${method} ${id} ${JSON.stringify({ ...fields, ...key })} ${apart?.join() ?? ""}`,
      (model) => {
        versions = versionsOf(model, resource, id, apart);
        return {
          method: "PATCH",
          path: `${PATHS[resource]}/${id}`,
          client: key?.client ?? 0,
          body: write(fields),
          headers: { ...ifMatchHeader(versions), ...keyHeader(key) },
        };
      },
      (model) => model[method](id, fields, versions, nameOf(key)),
      key !== undefined,
      list,
    );
  });

const deletion = (method: "deletePet" | "deleteCategory" | "cancelOrder", resource: Resource) =>
  fc.tuple(smallId, distances, faults).map(([id, apart, list]) => {
    let versions: number[] | undefined;
    return new Change(
      `${method} ${id} ${apart?.join() ?? ""}`,
      (model) => {
        versions = versionsOf(model, resource, id, apart);
        return { method: "DELETE", path: `${PATHS[resource]}/${id}`, headers: ifMatchHeader(versions) };
      },
      (model) => model[method](id, versions),
      method === "cancelOrder",
      list,
    );
  });

const SHIP_DATES = ["2026-11-22T09:30:00.000Z", "2026-11-23T09:30:00.000Z"];
const shipment = fc
  .tuple(smallId, fc.constantFrom(...SHIP_DATES), distances, idempotencyKey, faults)
  .map(([id, shipDate, apart, key, list]) => {
    let versions: number[] | undefined;
    return new Change(
      `shipOrder ${id} ${shipDate} ${apart?.join() ?? ""}`,
      (model) => {
        versions = versionsOf(model, "orders", id, apart);
        const body = write({ status: "shipped", shipDate });
        const headers = { ...ifMatchHeader(versions), ...keyHeader(key) };
        return { method: "PATCH", path: `${PATHS.orders}/${id}`, client: key?.client ?? 0, body, headers };
      },
      (model) => model.shipOrder(id, shipDate, versions, nameOf(key)),
      key !== undefined || apart === undefined,
      list,
    );
  });

const size = fc.integer({ min: 1, max: 30 });
const ids = optional(fc.array(smallId, { minLength: 1, maxLength: 5 }));
const listPets = fc.tuple(size, optional(status), optional(categoryId), ids).map(([limit, wanted, category, only]) => {
  const query: [string, string][] = (only ?? []).map((id) => ["id", String(id)]);
  if (wanted !== undefined) query.push(["status", wanted]);
  if (category !== undefined) query.push(["categoryId", category]);
  return new List("/v1/pets", query, limit, (model) =>
    model.listPets({ status: wanted, categoryId: category, ids: only }),
  );
});
const getPet = smallId.map(
  (id) =>
    new Change(
      `getPet ${id}`,
      () => ({ method: "GET", path: `/v1/pets/${id}` }),
      (model) => model.getPet(id),
      false,
      [],
    ),
);

const getOrder = smallId.map(
  (id) =>
    new Change(
      `getOrder ${id}`,
      () => ({ method: "GET", path: `${PATHS.orders}/${id}` }),
      (model) => model.getOrder(id),
      false,
      [],
    ),
);
const listOrders = fc
  .tuple(size, optional(fc.constantFrom(...ORDER_STATUSES)), optional(smallId))
  .map(([limit, wanted, petId]) => {
    const query: [string, string][] = [];
    if (wanted !== undefined) query.push(["status", wanted]);
    if (petId !== undefined) query.push(["petId", String(petId)]);
    return new List(PATHS.orders, query, limit, (model) => model.listOrders({ status: wanted, petId }));
  });

const placement = () => creation("placeOrder", "/v1/store/orders", fc.record({ petId: smallId }));

const commands = [
  creation("createPet", "/v1/pets", newPet),
  creation("createPet", "/v1/pets", newPet),
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
  getOrder,
  listOrders,
  listPets,
  size.map((limit) => new List("/v1/categories", [], limit, (model) => model.listCategories())),
  getPet,
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
      await fc.asyncModelRun(() => ({ model: new Model(), real: apiKeys }), list);
    }),
    { seed: SEED, numRuns: RUNS },
  );
  console.log(`${steps} steps`);
  expect(steps).toBeGreaterThan(1_000);
}, 120_000);
