import type { RequestOptions } from "./options.ts";
import { ANIMAL } from "./fields.ts";
import type { Int64Input } from "./int64.ts";
import { List } from "./list.ts";
import {
  change,
  type ChangeOptions,
  create,
  type Created,
  type CreateOptions,
  get,
  remove,
  type ResourceScope,
  type Scope,
  type UpdateOptions,
  type Versioned,
} from "./requests.ts";
import type { Animal, NewPet, PetPatch, PetQuery } from "./shapes.ts";

/** The animals of the store. */
export class Pets {
  readonly #scope: ResourceScope<"animal", Animal>;

  constructor(scope: Scope) {
    this.#scope = { ...scope, path: "/pets", name: "animal", fields: ANIMAL };
  }

  /**
   * Lists animals. No ids in `id` are no animals, and more than 100 become several requests. The filters `categoryId` and `id` are
   * beta.
   */
  list(query: PetQuery = {}, options: RequestOptions = {}): List<Animal> {
    return new List(this.#scope, "listPets", query, options);
  }

  /** Adds an animal, exactly once. */
  async create(pet: NewPet, options: CreateOptions = {}): Promise<Created & { animal: Animal }> {
    return create(this.#scope, "createPet", pet, options);
  }

  /**
   * Fetches an animal.
   *
   * @deprecated The service removes this operation. Use `list({ id: [id] })`.
   */
  async get(id: Int64Input, options: RequestOptions = {}): Promise<Versioned & { animal: Animal }> {
    return get(this.#scope, "getPet", id, options);
  }

  /**
   * Changes the given fields of an animal, exactly once. Without `ifMatch`, the last change wins.
   *
   * @beta
   */
  async update(id: Int64Input, patch: PetPatch, options: UpdateOptions = {}): Promise<Created & { animal: Animal }> {
    return change(this.#scope, "updatePet", id, patch, options);
  }

  /**
   * Deletes an animal. When a response is lost and the animal is then gone, the deletion has succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await remove(this.#scope, "deletePet", id, options, true);
  }
}
