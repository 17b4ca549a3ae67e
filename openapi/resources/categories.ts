// The description of the categories.
import {
  ANY_TEXT,
  INT64,
  listed,
  NAME,
  fieldsOf,
  pageParameters,
  propertiesOf,
  type Resource,
  arrayOf,
  added,
  ok,
} from "../describe.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { category as shape } from "../../src/categories/shape.ts";
import { MAX_DESCRIPTION_CHARACTERS } from "../../src/categories/table.ts";

const CAMELIDS = { id: 1, name: "Camelids", description: "Alpacas, camels and llamas." };
/** What the example of a creation makes, and that of a deletion removes. */
const REPTILES = { id: 5, name: "Reptiles", description: "Lizards, snakes and turtles." };
const CATEGORY_ID = { categoryId: { description: "Identifier of the category.", schema: INT64, example: CAMELIDS.id } };

const { created, changed, whole } = propertiesOf(
  shape,
  {
    name: {
      ...NAME,
      description: "The name, stored byte for byte. It is unique among the categories.",
      examples: [CAMELIDS.name],
    },
    description: {
      description: "Stored byte for byte. Absent when the category has none.",
      maxLength: MAX_DESCRIPTION_CHARACTERS,
      pattern: ANY_TEXT,
      examples: [CAMELIDS.description],
    },
  },
  { changed: { description: "Stored byte for byte. `null` removes it." } },
);
const category = fieldsOf("A category of animals.", whole, CAMELIDS);

export const categories: Resource = {
  tag: {
    name: "Categories",
    description:
      "Names for the categories that animals belong to. The `categoryId` of an animal can be any 64-bit integer, also one without a category here.",
  },
  missing: "There is no category with this id.",
  schemas: {
    NewCategory: fieldsOf("A category to add. Other fields, `id` among them, are ignored.", created, {
      name: CAMELIDS.name,
      description: CAMELIDS.description,
    }),
    CategoryPatch: fieldsOf(
      "The fields of a category to change. Other fields, `id` among them, are ignored.",
      changed,
      { name: CAMELIDS.name, description: null },
    ),
    Category: category,
    ListedCategory: listed(category),
    Categories: arrayOf("ListedCategory", "Categories in the order of the request.", MAX_LIMIT, [CAMELIDS]),
  },
  operations: {
    listCategories: {
      stability: "beta",
      summary: "List categories",
      agents: {
        description: "Lists categories. Animals name them by categoryId.",
        without: ["include"],
      },
      description:
        "Returns categories in ascending order of id, or as `sort` says. If there are more, the `Link` header holds the address of the next page, with the same parameters. A list ignores preconditions.",
      parameters: pageParameters("categories"),
      success: ok("Categories.", "Categories", [CAMELIDS]),
    },
    createCategory: {
      stability: "beta",
      summary: "Add a category",
      agents: { description: "Adds a category. No two have the same name." },
      description: "With an `Idempotency-Key`, the category is created exactly once, even if the request is repeated.",
      idempotencyKey: "category",
      body: {
        description: "A category",
        schema: "NewCategory",
        example: { name: REPTILES.name, description: REPTILES.description },
      },
      success: added("The category was created.", "Category", REPTILES),
      errors: {
        invalid_request: "name is required: a string of 1 to 255 well-formed characters, not only white space.",
        category_exists: "Another category has this name.",
      },
    },
    getCategory: {
      stability: "beta",
      summary: "Fetch a category",
      agents: { description: "Returns a category." },
      description: "Returns a category.",
      parameters: CATEGORY_ID,
      success: ok("The category.", "Category", CAMELIDS),
    },
    updateCategory: {
      stability: "beta",
      summary: "Change a category",
      agents: { description: "Changes name or description of a category. null removes a description." },
      description:
        "Applies a JSON Merge Patch (RFC 7396): the fields in it change, and `null` removes the description. A patch that changes nothing leaves the version unchanged.",
      parameters: CATEGORY_ID,
      idempotencyKey: "change",
      body: { description: "The fields to change", schema: "CategoryPatch", example: { name: CAMELIDS.name } },
      success: ok("The whole category.", "Category", CAMELIDS),
      errors: {
        invalid_request: "name has to be a string of 1 to 255 well-formed characters, not only white space.",
        category_exists: "Another category has this name.",
      },
    },
    deleteCategory: {
      stability: "beta",
      summary: "Delete a category",
      agents: {
        description: "Deletes a category for good. A category that an animal names stays: the call is refused.",
      },
      description: "Deletes a category that no animal names. Its identifier is never used again.",
      parameters: { categoryId: { ...CATEGORY_ID.categoryId, example: REPTILES.id } },
      success: { status: 204, description: "The category is deleted." },
      errors: {
        category_in_use: "An animal names this category.",
      },
    },
  },
};
