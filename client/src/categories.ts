import type { ReadOptions } from "./options.ts";
import * as fields from "./fields.ts";
import type { Int64Input } from "./int64.ts";
import type { List } from "./list.ts";
import {
  type ChangeOptions,
  type Created,
  type CreateOptions,
  type GetOptions,
  type Got,
  Resource,
  type Scope,
  type UpdateOptions,
} from "./requests.ts";
import type { Category, CategoryPatch, CategoryQuery, Etags, Listed, NewCategory, WithEtags } from "./shapes.ts";

/** The categories of the animals. */
export class Categories {
  readonly #categories: Resource<"category", Category>;

  constructor(scope: Scope) {
    this.#categories = new Resource<"category", Category>(scope, "/categories", "category", fields.Category);
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
    return this.#categories.list("listCategories", query, options);
  }

  /**
   * Adds a category, exactly once.
   *
   * @beta
   */
  async create(category: NewCategory, options: CreateOptions = {}): Promise<Created & { category: Category }> {
    return this.#categories.create("createCategory", category, options);
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
    return this.#categories.get("getCategory", id, options);
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
    return this.#categories.change("updateCategory", id, patch, options);
  }

  /**
   * Deletes a category that no animal names. When a response is lost and the category is then gone, the deletion has
   * succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await this.#categories.remove("deleteCategory", this.#categories.pathOf(id), options, true);
  }
}
