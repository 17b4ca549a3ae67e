import type { RequestOptions } from "./connection.ts";
import { CATEGORY } from "./fields.ts";
import { type Int64Input, toDigits } from "./int64.ts";
import { List } from "./list.ts";
import {
  change,
  type ChangeOptions,
  create,
  type Created,
  type CreateOptions,
  remove,
  type ResourceScope,
  type Scope,
  type UpdateOptions,
} from "./requests.ts";
import type { Category, CategoryPatch, CategoryQuery, NewCategory } from "./shapes.ts";

/** The categories of the animals. */
export class Categories {
  readonly #scope: ResourceScope;

  constructor(scope: Scope) {
    this.#scope = { ...scope, fields: CATEGORY };
  }

  /**
   * Lists categories.
   *
   * @beta
   */
  list(query: CategoryQuery = {}, options: RequestOptions = {}): List<Category> {
    return new List(this.#scope, { operation: "listCategories", path: "/categories", query, options });
  }

  /**
   * Adds a category, exactly once.
   *
   * @beta
   */
  async create(category: NewCategory, options: CreateOptions = {}): Promise<Created & { category: Category }> {
    const { item, ...rest } = await create<Category>(this.#scope, "createCategory", "/categories", category, options);
    return { category: item, ...rest };
  }

  /**
   * Changes the given fields of a category, exactly once. Without `ifMatch`, the last change wins.
   *
   * @beta
   */
  async update(
    id: Int64Input,
    patch: CategoryPatch,
    options: UpdateOptions = {},
  ): Promise<Created & { category: Category }> {
    const { item, ...rest } = await change<Category>(this.#scope, "updateCategory", pathOf(id), patch, options);
    return { category: item, ...rest };
  }

  /**
   * Deletes a category that no animal names. When a response is lost and the category is then gone, the deletion has
   * succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await remove(this.#scope, "deleteCategory", pathOf(id), options, true);
  }
}

function pathOf(id: Int64Input): string {
  return `/categories/${toDigits(id)}`;
}
