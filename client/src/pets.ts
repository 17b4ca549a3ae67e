import type { ReadOptions } from "./options.ts";
import { type CreateManyOptions, sendBatches, type UpdateManyOptions, type UpsertManyOptions } from "./batches.ts";
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
import type { Animal, Etags, ImportedPet, Listed, NewPet, PetChange, PetPatch, PetQuery, WithEtags } from "./shapes.ts";

/** The animals of the store. */
export class Pets {
  readonly #pets: Resource<"animal", Animal>;

  constructor(scope: Scope) {
    this.#pets = new Resource<"animal", Animal>(scope, "/pets", "animal", fields.Animal);
  }

  /**
   * Lists animals. Without an id in `id`, there are no animals. More than 100 ids become several requests. With `q`, their names have
   * these words, and without a word in it there are none. A page may then be short or empty, and the list still go on. The filters `categoryId`, `id` and `q` are beta.
   */
  list<Asked extends Etags = false>(
    query: PetQuery & WithEtags<Asked> = {},
    options: ReadOptions = {},
  ): List<Listed<Animal, Asked>> {
    return this.#pets.list("listPets", query, options);
  }

  /** Adds an animal, exactly once. */
  async create(pet: NewPet, options: CreateOptions = {}): Promise<Created & { animal: Animal }> {
    return this.#pets.create("createPet", pet, options);
  }

  /**
   * Adds animals in batches, in their order, and each exactly once. With the same animals and the same `idempotencyKey`, another call goes
   * on where this one ended. An error in a batch ends it: the animals of earlier batches stay.
   *
   * @param pets any number of them. The memory holds one batch.
   * @returns the number of animals.
   * @beta
   */
  async createMany(pets: Iterable<NewPet> | AsyncIterable<NewPet>, options: CreateManyOptions = {}): Promise<number> {
    return sendBatches(
      this.#pets,
      { operation: "createPets", method: "POST" },
      pets,
      options,
      fields.Animal,
      "created",
    );
  }

  /**
   * Fetches an animal.
   *
   * @deprecated The service removes this operation. Use `list({ id: [id] })`.
   */
  async get<Etag extends string | undefined = never>(
    id: Int64Input,
    options: GetOptions<Etag> = {},
  ): Promise<Got<{ animal: Animal }, Etag>> {
    return this.#pets.get("getPet", id, options);
  }

  /**
   * Changes the given fields of an animal, exactly once. Without `ifMatch`, the last change wins.
   *
   * @beta
   */
  async update(id: Int64Input, patch: PetPatch, options: UpdateOptions = {}): Promise<Created & { animal: Animal }> {
    return this.#pets.change("updatePet", id, patch, options);
  }

  /**
   * Changes animals in batches, in their order, and each batch exactly once: all of its changes, or none. A change applies to the
   * `version` that it names, or to any. With the same changes and the same `idempotencyKey`, another call goes on where this one ended.
   * An error in a batch ends it: the changes of earlier batches stay.
   *
   * @param changes any number of them. The memory holds one batch. A second change of an animal begins a new one.
   * @returns the number of changes.
   * @beta
   */
  async updateMany(
    changes: Iterable<PetChange> | AsyncIterable<PetChange>,
    options: UpdateManyOptions = {},
  ): Promise<number> {
    const request = { operation: "updatePets", method: "PATCH" } as const;
    return sendBatches(this.#pets, request, changes, options, fields.VersionedAnimal, "done");
  }

  /**
   * Makes animals what another system says, in batches, in their order, and each batch as a whole: by `externalId`, it creates the unknown
   * ones, changes those that differ and leaves the others. After any end, run it again from the beginning: the same animals change nothing.
   * An error in a batch ends it: the animals of earlier batches stay.
   *
   * @param pets any number of them. The memory holds one batch.
   * @returns the number of animals.
   * @beta
   */
  async upsertMany(
    pets: Iterable<ImportedPet> | AsyncIterable<ImportedPet>,
    options: UpsertManyOptions = {},
  ): Promise<number> {
    return sendBatches(
      this.#pets,
      { operation: "importPets", method: "PUT" },
      pets,
      options,
      fields.UpsertedAnimal,
      "done",
    );
  }

  /**
   * Deletes an animal. When a response is lost and the animal is then gone, the deletion has succeeded.
   *
   * @beta
   */
  async delete(id: Int64Input, options: ChangeOptions = {}): Promise<void> {
    await this.#pets.remove("deletePet", this.#pets.pathOf(id), options, true);
  }
}
