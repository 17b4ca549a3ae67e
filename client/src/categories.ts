import type { ReadOptions } from "./options.ts";
import { CATEGORY } from "./fields.ts";
import type { Int64Input } from "./int64.ts";
import { List } from "./list.ts";
import {
  change,
  type ChangeOptions,
  create,
  type Created,
  type CreateOptions,
  get,
  type GetOptions,
  type Got,
  pathOf,
  remove,
  type ResourceScope,
  type Scope,
  type UpdateOptions,
} from "./requests.ts";
import type { Category, CategoryPatch, CategoryQuery, Etags, Listed, NewCategory, WithEtags } from "./shapes.ts";

/** The categories of the animals. */
export class Categories {
  readonly #scope: ResourceScope<"category", Category>;

  constructor(scope: Scope) {
    this.#scope = { ...scope, path: "/categories", name: "category", fields: CATEGORY };
  }

  /**
   * Lists categories.
   *
   * @beta
   */
  list<Asked extends Etags = false>(
    query: CategoryQuery & WithEtags<Asked> = {},
    options: ReadOptions = {},
  ): List<Listed<Category, Asked>> {
    return new List(this.#scope, "listCategories", query, options);
  }

  /**
   * Adds a category, exactly once.
   *
   * @beta
   */
  async create(category: NewCategory, options: CreateOptions = {}): Promise<Created & { category: Category }> {
    return create(this.#scope, "createCategory", category, options);
  }

  /**
   * Fetches a category.
   *
   * @beta
   */
  async get<Etag extends string | undefined = never>(
    id: Int64Input,
    options: GetOptions<Etag> = {},
  ): Promise<Got<{ category: Category }, Etag>> {
    return get(this.#scope, "getCategory", pathOf(this.#scope, id), options);
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
    return change(this.#scope, "updateCategory", pathOf(this.#scope, id), patch, options);
  }

  /**
   * Deletes a category that no animal names. When a response is lost and the category is then gone, the deletion has
   * succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await remove(this.#scope, "deleteCategory", pathOf(this.#scope, id), options, true);
  }
}
