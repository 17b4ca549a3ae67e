import * as fields from "../client/src/fields.ts";
import type { ImportedPet, NewPet, PetPatch } from "../client/src/index.ts";
import { NOTHING, once, patch, post, put, REMOVE, REX as ANIMAL, rows } from "./cost.ts";
import { idOf, newAnimal, newOrder, REX } from "./once.ts";
import type { Rows } from "./row.ts";
import {
  bodyOf,
  type Call,
  categoryOf,
  etags,
  externalIdOf,
  fetching,
  maxAge,
  removing,
  sort,
  STATUSES,
  target,
  textOf,
  walk,
} from "./simulated.ts";
import type { Random } from "../test/world/random.ts";

const PETS = "/v1/pets";
const BATCH = `${PETS}/batch`;
const HUNDRED = Array.from({ length: 100 }, () => ANIMAL);
/** Animals of a category that only lists name. */
const RENAMED = Array.from({ length: 100 }, (_, index) => ({ id: 301 + index, name: "Max", version: 1 }));
const RENAMED_AGAIN = patch(
  RENAMED.map(({ id }) => ({ id, name: "Bo" })),
  once("names"),
);
const IMPORTED = Array.from({ length: 100 }, (_, index) => ({ externalId: `SKU-${index}`, ...ANIMAL }));
const IMPORTED_ANEW = IMPORTED.map((animal) => ({ ...animal, name: "Max" }));
const CHANGE = patch({ status: "sold" }, once("change"));

const FIVE = Array.from({ length: 5 }, (_, index) => ({ name: `Animal ${index}`, categoryId: -index }));
const disturb = () => ({ status: "available", name: "Max" });

const newPet = (random: Random) => bodyOf(random, fields.NewPet) as NewPet;
const patchOfPet = (random: Random): PetPatch => bodyOf(random, fields.PetPatch);
/** Items of other systems, each once. Few names, so that some animals stay as they are. */
const importsOf = (random: Random) =>
  Array.from(new Set(Array.from({ length: random.between(1, 6) }, () => externalIdOf(random))), (externalId) => ({
    ...(bodyOf(random, fields.ImportedPet) as ImportedPet),
    externalId,
    name: random.pick(["Rex", "Émile 🐍"]),
    categoryId: random.pick([1n, 2n]),
  }));
/** Animals, each once. */
const idsOf = ({ random, known }: Pick<Call, "random" | "known">, most: number) => [
  ...new Set(Array.from({ length: random.between(1, most) }, () => known.id(random, "pets"))),
];

export const pets = {
  createPet: {
    scope: "pets:write",
    tool: "hidden",
    sample: async (store) => {
      const { animal, etag } = await store.pets.create({
        name: "Ada the Alpaca",
        categoryId: 1n,
      });
      console.log(animal.id, etag);
    },
    costs: {
      "a creation": [rows(7, 5), 201, PETS, post(ANIMAL)],
      "a creation with an Idempotency-Key": [rows(12, 7), 201, PETS, post(ANIMAL, once("new"))],
      "a creation with an external id": [rows(8, 6), 201, PETS, post({ ...ANIMAL, externalId: "A" })],
      "a creation with an external id that another animal has": [
        rows(5),
        409,
        PETS,
        post({ ...ANIMAL, externalId: "A" }),
      ],
      "a retry of a creation": [rows(6), 201, PETS, post(ANIMAL, once("known"))],
      "another creation with a known Idempotency-Key": [
        rows(6),
        422,
        PETS,
        post({ ...ANIMAL, name: "Max" }, once("known")),
      ],
    },
    invalid: {},
    once: [
      {
        prepare: async () => ({
          path: PETS,
          body: REX,
          same: '{ "status":"available",\n"categoryId":-7.0e0, "id": 5, "tags": [], "name":"\\u0052ex" }',
          others: [{ ...REX, name: "rex" }, { ...REX, categoryId: 8 }, { ...REX, status: "sold" }, [REX]],
        }),
        events: 1,
        disturb,
      },
    ],
    world: {
      weight: 10,
      prepare({ random, idempotencyKey }) {
        const pet = newPet(random);
        return (client) => client.pets.create(pet, { idempotencyKey });
      },
      answer: ({ body, key }, model) => model.createPet(body as never, key),
    },
  },
  createPets: {
    scope: "pets:write",
    tool: ["add", { items: [{ name: "Rex", categoryId: "-7" }] }],
    sample: async (store) => {
      const count = await store.pets.createMany([
        { name: "Ada the Alpaca", categoryId: 1n },
        { name: "Gil the Goldfish", categoryId: 8n },
      ]);
      console.log(count);
    },
    costs: {
      "a batch of 100": [rows(802, 401), 201, BATCH, post(HUNDRED)],
      "a batch of 100 with an Idempotency-Key": [rows(1006, 403), 201, BATCH, post(HUNDRED, once("batch"))],
      "a batch of 100 with external ids": [
        rows(903, 501),
        201,
        BATCH,
        post(HUNDRED.map((animal, index) => ({ ...animal, externalId: `B-${index}` }))),
      ],
      "a retry of a batch": [rows(108), 201, BATCH, post(HUNDRED, once("batch"))],
    },
    invalid: [{}],
    once: [
      {
        prepare: async () => ({
          path: BATCH,
          body: FIVE,
          same: JSON.stringify(
            FIVE.map((animal) => ({ status: "available", id: 1, ...animal })),
            null,
            1,
          ),
          others: [
            FIVE.slice(1),
            [...FIVE, REX],
            FIVE.toReversed(),
            FIVE.map((one, index) => (index === 4 ? { ...one, name: "Other" } : one)),
            FIVE.map((one, index) => (index === 0 ? { ...one, status: "sold" } : one)),
          ],
        }),
        events: FIVE.length,
        disturb,
      },
    ],
    world: {
      weight: 2,
      prepare({ random, idempotencyKey }) {
        const pets = Array.from({ length: random.between(1, 6) }, () => newPet(random));
        return (client) => client.pets.createMany(pets, { idempotencyKey });
      },
      answer: ({ body, key }, model) => model.createPets(body as never, key),
    },
  },
  updatePet: {
    scope: "pets:write",
    tool: "hidden",
    // oxfmt-ignore
    sample: async (store) => {
      const { animal } = await store.pets.update(
        1n,
        { status: "pending" },
        { ifMatch: '"1"' },
      );
      console.log(animal.status);
    },
    costs: {
      "a change of a name": [rows(5, 2), 200, `${PETS}/7`, patch({ name: "Max" })],
      "a change of a status": [rows(6, 4), 200, `${PETS}/8`, patch({ status: "sold" })],
      "a change of a status with an Idempotency-Key": [rows(11, 6), 200, `${PETS}/11`, CHANGE],
      "a retry of a change": [rows(8), 200, `${PETS}/11`, CHANGE],
      "a change to the current values with an Idempotency-Key": [
        rows(8, 2),
        200,
        `${PETS}/12`,
        patch({ status: "available" }, once("nothing")),
      ],
      "a change of everything": [
        rows(7, 4),
        200,
        `${PETS}/9`,
        patch({ ...ANIMAL, status: "sold" }, { "If-Match": '"1"' }),
      ],
      "an external id of an animal": [rows(6, 3), 200, `${PETS}/13`, patch({ externalId: "C" })],
      "a change of nothing": [rows(3), 200, `${PETS}/10`, patch({})],
      "a change to the current values": [rows(3), 200, `${PETS}/10`, patch({ status: "available" })],
      "a change with another version": [rows(4), 412, `${PETS}/10`, patch({ name: "Max" }, { "If-Match": '"2"' })],
      "a change of an unknown animal": [rows(3), 404, `${PETS}/999999`, patch({ name: "Max" })],
      "a patched status of an animal on order": [rows(5), 409, `${PETS}/23`, patch({ status: "sold" })],
    },
    invalid: { status: "gone" },
    once: [
      {
        prepare: async (service) => ({
          path: await newAnimal(service),
          body: { status: "pending" },
          same: { x: 1, status: "pending" },
          others: [{ status: "sold" }, {}],
        }),
        nothing: { name: "Rex", status: "available" },
        events: 1,
        disturb,
        conflict: async (service, { path }) => ["pet_on_order", await newOrder(service, path)],
      },
    ],
    world: {
      weight: 12,
      prepare(call) {
        const { random, idempotencyKey } = call;
        const { id, ...versions } = target(call, "pets");
        const patch = patchOfPet(random);
        return (client) => client.pets.update(id, patch, { ...versions, idempotencyKey });
      },
      answer: ({ id, body, met, key }, model) => model.patchPet(id, body, met, key),
    },
  },
  updatePets: {
    scope: "pets:write",
    tool: ["change", { items: [{ id: "1", name: "Ada" }] }],
    sample: async (store) => {
      const count = await store.pets.updateMany([
        { id: 1n, version: 1, status: "pending" },
        { id: 2n, version: 1, name: "Max" },
      ]);
      console.log(count);
    },
    costs: {
      "a change of 100 names": [rows(1300, 200), 200, BATCH, patch(RENAMED)],
      "a change of 100 names with an Idempotency-Key": [rows(1205, 202), 200, BATCH, RENAMED_AGAIN],
      "a retry of a change of 100 names": [rows(9), 200, BATCH, RENAMED_AGAIN],
      "a change of 100 names with other versions": [rows(403), 412, BATCH, patch(RENAMED)],
    },
    invalid: [{ id: 1, status: "gone" }],
    once: [
      {
        async prepare(service) {
          const ids = [await newAnimal(service), await newAnimal(service), await newAnimal(service)].map(idOf);
          const body = ids.map((id, index) => ({
            id,
            ...(index > 0 && { version: 1 }),
            status: "pending",
            name: `${id}`,
          }));
          const [first = {}, ...rest] = body;
          return {
            path: BATCH,
            body,
            same: JSON.stringify(body.map((change) => ({ x: 1, ...change }))).replaceAll(
              '"version":1',
              '"version":1.0',
            ),
            others: [
              ids.map((id) => ({ id, status: "sold" })),
              rest,
              body.toReversed(),
              body.map((change) => ({ ...change, version: undefined })),
              [{ ...first, version: 1 }, ...rest],
              [{ ...first, name: "Other" }, ...rest],
            ],
          };
        },
        events: 3,
        disturb,
        conflict: async (service, { body }) => [
          "pet_on_order",
          await newOrder(service, `/v1/pets/${(body as { id: number }[])[0]?.id}`),
        ],
      },
    ],
    world: {
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
      answer: ({ body, key }, model) => model.patchPets(body as never, key),
    },
  },
  importPets: {
    scope: "pets:write",
    tool: ["change", { items: [{ externalId: "A", name: "Rex", categoryId: "-7" }] }],
    sample: async (store) => {
      await store.pets.upsertMany([{ externalId: "SKU-0007", name: "Ada the Alpaca", categoryId: 1n }], {
        onProgress: ({ animals, warnings }) => console.log(animals[0]?.result, warnings),
      });
    },
    costs: {
      "an import of 100 new animals": [rows(1605, 501), 200, BATCH, put(IMPORTED)],
      "an import of 100 equal animals": [rows(1108), 200, BATCH, put(IMPORTED)],
      "an import of 100 changed names": [rows(1805, 300), 200, BATCH, put(IMPORTED_ANEW)],
      "an import of 100 animals of which one changes": [
        rows(1310, 3),
        200,
        BATCH,
        put([...IMPORTED_ANEW.slice(1), ...IMPORTED.slice(0, 1)]),
      ],
    },
    invalid: [{ externalId: "a b", ...ANIMAL }],
    world: {
      weight: 6,
      prepare({ random }) {
        const pets = importsOf(random);
        return (client) => client.pets.upsertMany(pets);
      },
      answer: ({ body }, model) => model.importPets(body as never),
    },
  },
  deletePet: {
    scope: "pets:write",
    tool: ["change", { petId: "4" }],
    sample: async (store) => {
      await store.pets.delete(1n);
    },
    costs: {
      "a deletion": [rows(5, 2), 204, `${PETS}/11`, REMOVE],
      "a deletion of an unknown animal": [rows(3), 404, `${PETS}/11`, REMOVE],
      "a deletion of an animal on order": [rows(5), 409, `${PETS}/23`, REMOVE],
    },
    world: {
      weight: 6,
      prepare: removing("pets", (client, id, versions) => client.pets.delete(id, versions)),
      answer: ({ id, met }, model) => model.deletePet(id, met),
    },
  },
  getPet: {
    scope: "pets:read",
    tool: "hidden",
    sample: async (store) => {
      const { animal, etag } = await store.pets.get(1n);
      console.log(animal.name, etag);
    },
    costs: {
      "an animal": [rows(1), 200, `${PETS}/1`],
      "an animal that has not changed": [rows(1), 304, `${PETS}/1`, { headers: { "If-None-Match": '"1"' } }],
      "a read with max-age": [rows(1), 200, `${PETS}/1`, { headers: { "Cache-Control": "max-age=60" } }],
      "a read from memory": [NOTHING, 200, `${PETS}/1`, { headers: { "Cache-Control": "max-age=60" } }],
      "an unknown animal": [rows(1), 404, `${PETS}/999999`],
      "an id that is not an int64": [NOTHING, 404, `${PETS}/rex`],
    },
    world: {
      weight: 8,
      prepare: fetching("pets", (client, id, options) => client.pets.get(id, options)),
      answer: ({ id, met }, model) => model.getPet(id, met),
    },
  },
  listPets: {
    scope: "pets:read",
    tool: ["read", { id: ["1", "2"], include: "version" }],
    sample: async (store) => {
      for await (const animal of store.pets.list({ status: "available" })) {
        console.log(animal.id, animal.name);
      }
    },
    costs: {
      "a list of 20": [rows(21), 200, PETS],
      "a list of 100": [rows(101), 200, "/v1/pets?limit=100"],
      "a list by status": [rows(21), 200, "/v1/pets?status=available"],
      "a list by a small category": [rows(4), 200, "/v1/pets?categoryId=1005"],
      "a list by category": [rows(23), 200, "/v1/pets?categoryId=-1"],
      "a list by category and status": [rows(21), 200, "/v1/pets?categoryId=-1&status=sold"],
      "a list of 100 ids": [
        rows(300),
        200,
        `/v1/pets?limit=100${Array.from({ length: 100 }, (_, i) => `&id=${i + 101}`).join("")}`,
      ],
      "a list by all filters": [rows(9), 200, "/v1/pets?id=1&id=2&id=3&categoryId=1002&status=available"],
      "a list by an external id": [rows(1), 200, "/v1/pets?externalId=SKU-1&status=available"],
      "a list with versions, newest first": [rows(21), 200, "/v1/pets?include=version&sort=-id"],
      "a search that finds nothing": [rows(18), 200, "/v1/pets?q=nobody"],
      "a query that breaks a rule": [NOTHING, 400, "/v1/pets?limit=0"],
      "a forged cursor": [NOTHING, 400, "/v1/pets?cursor=AAAAAAAAAAAAAAAA"],
      "a bad bookmark": [NOTHING, 400, PETS, { headers: { "x-d1-bookmark": "latest" } }],
    },
    world: {
      weight: 9,
      prepare({ random, known }) {
        const filter = random.weighted({ none: 4, status: 1, category: 1, both: 1, ids: 2, externalId: 2 });
        const ids = Array.from({ length: random.between(1, 5) }, () => BigInt(known.id(random, "pets")));
        const query = {
          ...((filter === "status" || filter === "both") && { status: random.pick(STATUSES) }),
          ...((filter === "category" || filter === "both") && { categoryId: categoryOf(random) }),
          ...(filter === "ids" && { id: ids }),
          ...(filter === "externalId" && { externalId: externalIdOf(random) }),
          ...sort(random),
          ...etags(random),
          limit: random.between(1, 40),
        };
        const age = maxAge(random);
        const q = filter !== "externalId" && random.chance(0.6) ? { q: textOf(random) } : {};
        return (client) => walk(client.pets.list({ ...query, ...q }, age));
      },
      answer({ query, view }, model) {
        const ids = query.has("id") ? query.getAll("id").map(Number) : undefined;
        const [status, categoryId, q, externalId] = ["status", "categoryId", "q", "externalId"].map(
          (name) => query.get(name) ?? undefined,
        );
        return model.listPets({ status, categoryId, externalId, ids, q }, view);
      },
    },
  },
} satisfies Rows;
