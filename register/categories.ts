import * as fields from "../client/src/fields.ts";
import type { CategoryPatch, NewCategory } from "../client/src/index.ts";
import { once, patch, post, REMOVE, rows } from "./cost.ts";
import { newCategory, type OnceRequest, type Service, unique } from "./once.ts";
import type { Rows } from "./row.ts";
import { bodyOf, etags, fetching, maxAge, removing, sort, target, walk } from "./simulated.ts";

const CATEGORIES = "/v1/categories";

const disturb = () => ({ name: unique(), description: null });
const takenName = async (service: Service, { body }: OnceRequest): Promise<["category_exists", string]> => [
  "category_exists",
  await newCategory(service, (body as { name: string }).name),
];

export const categories = {
  listCategories: {
    scope: "pets:read",
    tool: ["read", {}],
    sample: async (store) => {
      for await (const category of store.categories.list()) {
        console.log(category.id, category.name);
      }
    },
    costs: { "a list of categories": [rows(21), 200, CATEGORIES] },
    world: {
      weight: 2,
      prepare({ random }) {
        const query = { ...sort(random), ...etags(random), limit: random.between(1, 10) };
        const age = maxAge(random);
        return (client) => walk(client.categories.list(query, age));
      },
      answer: ({ view }, model) => model.listCategories(view),
    },
  },
  createCategory: {
    scope: "pets:write",
    tool: ["add", { name: "Reptiles" }],
    sample: async (store) => {
      const { category } = await store.categories.create({
        name: "Reptiles",
        description: "Lizards, snakes and turtles.",
      });
      console.log(category.id);
    },
    costs: {
      "a creation of a category": [rows(8, 4), 201, CATEGORIES, post({ name: "New" })],
      "a creation of a category with an Idempotency-Key": [
        rows(12, 6),
        201,
        CATEGORIES,
        post({ name: "Newer" }, once("category")),
      ],
      "a category with a name that another has": [rows(6), 409, CATEGORIES, post({ name: "New" })],
    },
    invalid: {},
    once: [
      {
        async prepare() {
          const name = `\u0000"A\\ ${unique()}`;
          return {
            path: CATEGORIES,
            body: { name },
            same: { id: 5, name },
            others: [{ name: unique() }, { name, description: "" }],
          };
        },
        events: 1,
        disturb,
        conflict: takenName,
      },
    ],
    world: {
      weight: 3,
      prepare({ random, idempotencyKey }) {
        const category = bodyOf(random, fields.NewCategory) as NewCategory;
        return (client) => client.categories.create(category, { idempotencyKey });
      },
      answer: ({ body, key }, model) => model.createCategory(body as never, key),
    },
  },
  getCategory: {
    scope: "pets:read",
    tool: ["read", { categoryId: "1" }],
    sample: async (store) => {
      const { category, etag } = await store.categories.get(1n);
      console.log(category.name, etag);
    },
    costs: { "a category": [rows(1), 200, `${CATEGORIES}/1`] },
    world: {
      weight: 3,
      prepare: fetching("categories", (client, id, options) => client.categories.get(id, options)),
      answer: ({ id, met }, model) => model.getCategory(id, met),
    },
  },
  updateCategory: {
    scope: "pets:write",
    tool: ["change", { categoryId: "1", description: null }],
    sample: async (store) => {
      const { category } = await store.categories.update(1n, {
        name: "Camelids",
      });
      console.log(category.name);
    },
    costs: {
      "a new name of a category": [rows(6, 3), 200, `${CATEGORIES}/1`, patch({ name: "Newest" })],
      "a new name of a category with an Idempotency-Key": [
        rows(11, 5),
        200,
        `${CATEGORIES}/2`,
        patch({ name: "Latest" }, once("name")),
      ],
      "a new description of a category": [rows(5, 2), 200, `${CATEGORIES}/1`, patch({ description: "New" })],
      "a name that another category has": [rows(5), 409, `${CATEGORIES}/1`, patch({ name: "New" })],
    },
    invalid: { name: "" },
    once: [
      {
        async prepare(service) {
          const name = unique();
          return {
            path: await newCategory(service),
            body: { name },
            same: { id: 1, name },
            // An omitted field differs from null.
            others: [{ description: "z" }, { name, description: null }, {}],
          };
        },
        nothing: { description: "x" },
        events: 1,
        disturb,
        conflict: takenName,
      },
    ],
    world: {
      weight: 4,
      prepare(call) {
        const { random, idempotencyKey } = call;
        const { id, ...versions } = target(call, "categories");
        const patch: CategoryPatch = bodyOf(random, fields.CategoryPatch);
        return (client) => client.categories.update(id, patch, { ...versions, idempotencyKey });
      },
      answer: ({ id, body, met, key }, model) => model.patchCategory(id, body, met, key),
    },
  },
  deleteCategory: {
    scope: "pets:write",
    tool: ["change", { categoryId: "2" }],
    sample: async (store) => {
      await store.categories.delete(5n);
    },
    costs: {
      "a deletion of a category": [rows(5, 2), 204, `${CATEGORIES}/30`, REMOVE],
      "a deletion of a category that an animal names": [rows(5), 409, `${CATEGORIES}/1`, REMOVE],
    },
    world: {
      weight: 3,
      prepare: removing("categories", (client, id, versions) => client.categories.delete(id, versions)),
      answer: ({ id, met }, model) => model.deleteCategory(id, met),
    },
  },
} satisfies Rows;
