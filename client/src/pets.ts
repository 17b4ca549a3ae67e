import type { RequestOptions } from "./connection.ts";
import { ANIMAL } from "./fields.ts";
import { type Int64Input, toDigits } from "./int64.ts";
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
  readonly #scope: ResourceScope;

  constructor(scope: Scope) {
    this.#scope = { ...scope, fields: ANIMAL };
  }

  /** Lists animals. The filters `categoryId` and `id` are beta. */
  list(query: PetQuery = {}, options: RequestOptions = {}): List<Animal> {
    return new List(this.#scope, { operation: "listPets", path: "/pets", query, options });
  }

  /** Adds an animal, exactly once. */
  async create(pet: NewPet, options: CreateOptions = {}): Promise<Created & { animal: Animal }> {
    const { item, ...rest } = await create<Animal>(this.#scope, "createPet", "/pets", pet, options);
    return { animal: item, ...rest };
  }

  /**
   * Fetches an animal.
   *
   * @deprecated The service removes this operation. Use `list({ id: [id] })`.
   */
  async get(id: Int64Input, options: RequestOptions = {}): Promise<Versioned & { animal: Animal }> {
    const { item, ...rest } = await get<Animal>(this.#scope, "getPet", pathOf(id), options);
    return { animal: item, ...rest };
  }

  /**
   * Changes the given fields of an animal, exactly once. Without `ifMatch`, the last change wins.
   *
   * @beta
   */
  async update(id: Int64Input, patch: PetPatch, options: UpdateOptions = {}): Promise<Created & { animal: Animal }> {
    const { item, ...rest } = await change<Animal>(this.#scope, "updatePet", pathOf(id), patch, options);
    return { animal: item, ...rest };
  }

  /**
   * Deletes an animal. When a response is lost and the animal is then gone, the deletion has succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await remove(this.#scope, "deletePet", pathOf(id), options, true);
  }
}

function pathOf(id: Int64Input): string {
  return `/pets/${toDigits(id)}`;
}
